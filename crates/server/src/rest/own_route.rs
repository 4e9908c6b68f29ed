//! Routes that an application adds to those of its model.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use keyloom::Db;

use super::problem::Problem;

/// A route of an application's own. Reading takes the role `reader`, everything else `writer`.
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
    /// The JSON Schema of its answer.
    pub answer: &'static str,
    /// Answers requests.
    pub handler: Arc<dyn OwnHandler>,
}

/// Answers requests to an [`OwnRoute`].
pub trait OwnHandler: Send + Sync + 'static {
    /// The answer as JSON.
    fn answer(&self, request: OwnRequest) -> OwnAnswer;
}

/// An answer to be waited for.
pub type OwnAnswer = Pin<Box<dyn Future<Output = Result<String, Problem>> + Send>>;

/// A request to an [`OwnRoute`].
#[derive(Clone, Debug)]
pub struct OwnRequest {
    /// The database as the caller may see it. What is written with it is checked by the model, and
    /// that it is the caller's by the tenant; who may change what tenants share is for the route
    /// to decide.
    pub db: Db,
    /// The values of the path's parameters, in order.
    pub values: Vec<String>,
    /// The parameters of the query, in order.
    pub parameters: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
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
