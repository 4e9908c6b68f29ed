//! Routes that an application adds to those of its model.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use keyloom::Db;

use super::problem::Problem;
use super::role::Role;

/// A route that an application adds.
#[derive(Clone)]
pub struct OwnRoute {
    /// Its unique name in the documentation: `shopping_list`.
    pub name: &'static str,
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// `/menus/{id}/shopping-list`; begins with a fixed segment.
    pub path: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// The least role that may use it. `None` if it is public: the handler then decides what to reveal.
    pub role: Option<Role>,
    /// What it returns.
    pub answer: OwnShape,
    /// Answers requests.
    pub handler: Arc<dyn OwnHandler>,
}

/// What an [`OwnRoute`] returns.
#[derive(Clone, Copy, Debug)]
pub enum OwnShape {
    /// JSON that matches this JSON Schema.
    Json(&'static str),
    /// An HTML page.
    Html,
}

/// Answers requests to an [`OwnRoute`].
pub trait OwnHandler: Send + Sync + 'static {
    /// Answers a request.
    fn answer(&self, request: OwnRequest) -> OwnAnswer;
}

/// The future of a response.
pub type OwnAnswer = Pin<Box<dyn Future<Output = Result<OwnReply, Problem>> + Send>>;

/// A response of an [`OwnRoute`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnReply {
    /// The status, usually 200.
    pub status: u16,
    /// Headers in addition to those of every response.
    pub headers: Vec<(&'static str, String)>,
    /// The body, of the shape that the route declares.
    pub body: String,
}

impl OwnReply {
    /// A response with status 200.
    pub fn new(body: impl Into<String>) -> OwnReply {
        OwnReply { status: 200, headers: vec![], body: body.into() }
    }
}

/// A request to an [`OwnRoute`].
#[derive(Clone, Debug)]
pub struct OwnRequest {
    /// The database as the caller sees it; all of it if the route is public. It checks writes against the
    /// model and the tenant. The handler decides who may change what tenants share.
    pub db: Db,
    /// The values of the path parameters, in order.
    pub values: Vec<String>,
    /// The query parameters, in order.
    pub parameters: Vec<(String, String)>,
    /// The headers that are text, with lowercase names.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl OwnRequest {
    /// The value of the path parameter with this index; empty if there is none.
    pub fn value(&self, index: usize) -> &str {
        self.values.get(index).map_or("", String::as_str)
    }

    /// The value of a header; `None` if it is given twice.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(other, _)| other == name);
        values.next().filter(|_| values.next().is_none()).map(|(_, value)| value.as_str())
    }
}

impl<F> OwnHandler for F
where
    F: Fn(OwnRequest) -> OwnAnswer + Send + Sync + 'static,
{
    fn answer(&self, request: OwnRequest) -> OwnAnswer {
        self(request)
    }
}

impl fmt::Debug for OwnRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name, self.method, self.path)
    }
}
