//! Routes that an application adds to those of its model.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use keyloom::Db;

use super::access::Role;
use super::problem::Problem;

/// A route of an application's own.
#[derive(Clone)]
pub struct OwnRoute {
    /// Its name in the documentation, which no other operation has: `shopping_list`.
    pub name: &'static str,
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// `/menus/{id}/shopping-list`; begins with a word.
    pub path: &'static str,
    /// What it is for, in a sentence.
    pub summary: &'static str,
    /// The least role that may use it. None if anybody may, without a token: then it is for the
    /// route to decide what it tells.
    pub role: Option<Role>,
    /// What it answers.
    pub answer: OwnShape,
    /// Answers requests.
    pub handler: Arc<dyn OwnHandler>,
}

/// What an [`OwnRoute`] answers.
#[derive(Clone, Copy, Debug)]
pub enum OwnShape {
    /// JSON of this JSON Schema.
    Json(&'static str),
    /// A page for people.
    Html,
}

/// Answers requests to an [`OwnRoute`].
pub trait OwnHandler: Send + Sync + 'static {
    /// The answer.
    fn answer(&self, request: OwnRequest) -> OwnAnswer;
}

/// An answer to be waited for.
pub type OwnAnswer = Pin<Box<dyn Future<Output = Result<OwnReply, Problem>> + Send>>;

/// An answer of an [`OwnRoute`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnReply {
    /// The status: 200, unless there is more to say.
    pub status: u16,
    /// Headers beside those that every answer has.
    pub headers: Vec<(&'static str, String)>,
    /// The body, of the shape that the route names.
    pub body: String,
}

impl OwnReply {
    /// With status 200.
    pub fn new(body: impl Into<String>) -> OwnReply {
        OwnReply { status: 200, headers: vec![], body: body.into() }
    }
}

/// A request to an [`OwnRoute`].
#[derive(Clone, Debug)]
pub struct OwnRequest {
    /// The database as the caller may see it; all of it, if anybody may use the route. What is
    /// written with it is checked by the model, and that it is the caller's by the tenant; who may
    /// change what tenants share is for the route to decide.
    pub db: Db,
    /// The values of the path's parameters, in order.
    pub values: Vec<String>,
    /// The parameters of the query, in order.
    pub parameters: Vec<(String, String)>,
    /// Names, in lower case, and values of the headers that are text.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl OwnRequest {
    /// The value of the path's parameter of this number, from 0.
    pub fn value(&self, index: usize) -> &str {
        self.values.get(index).map_or("", String::as_str)
    }

    /// The value of a header; none if it is there twice.
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
