//! Routes that an application adds to those of its model.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use keyloom_model::Model;
use serde_json::Value as Json;

use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Body, Description, Group, any_value};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::own_route::{OwnRequest, OwnRoute, OwnShape};
use super::super::problem::{Kind, Problem};
use super::super::segment::Segment;
use super::super::state::State;

#[derive(Debug)]
struct Own {
    route: OwnRoute,
    has_body: bool,
    /// The schema of its response; `None` for HTML.
    schema: Option<Json>,
}

/// The operation of a route.
///
/// # Errors
///
/// If the method or the path is invalid, or the schema is not JSON.
pub(in crate::rest) fn own(route: OwnRoute) -> Result<Operation, String> {
    // HEAD and OPTIONS are answered for every path.
    const METHODS: [Method; 5] =
        [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let method = METHODS
        .into_iter()
        .find(|method| method == route.method)
        .ok_or_else(|| format!("The route {route:?} has an invalid method."))?;
    let path = Segment::path(route.path);
    if !matches!(path.first(), Some(Segment::Text(first)) if !first.is_empty()) {
        return Err(format!("The path of the route {route:?} must begin with a fixed segment."));
    }
    let schema =
        match route.answer {
            OwnShape::Html => None,
            OwnShape::Json(schema) => Some(serde_json::from_str(schema).map_err(|error| {
                format!("The schema of the route {route:?} is not JSON: {error}")
            })?),
        };
    let (name, has_body) = (route.name.to_owned(), method != Method::GET);
    Ok(Operation::new(name, method, path, Own { route, has_body, schema }))
}

impl Action for Own {
    fn access(&self) -> Access {
        self.route.role.map_or(Access::Public, Access::Role)
    }

    fn describe(&self, _: &Model) -> Description {
        let answer = match &self.schema {
            None => Answer { media_type: "text/html", ..Answer::empty(200, "The page.") },
            Some(schema) => Answer::json(200, "The response.", schema.clone()),
        };
        let body = Body { is_required: false, ..Body::json(any_value(), None) };
        Description {
            body: self.has_body.then_some(body),
            answers: vec![answer],
            // The code of the application can return any problem.
            problems: Kind::ALL.to_vec(),
            is_of_all_entities: true,
            ..Description::new(Group::Application, self.route.summary)
        }
    }

    fn run<'c>(&'c self, _: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, &self.route))
    }
}

async fn run(call: &Call, route: &OwnRoute) -> Result<Reply, Problem> {
    let request = OwnRequest {
        db: call.db.clone(),
        values: call.values.clone(),
        parameters: call.parameters.clone(),
        headers: texts(&call.headers),
        body: call.body.to_vec(),
    };
    let answer = route.handler.answer(request).await?;
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let mut reply = Reply::json(status, answer.body);
    if let OwnShape::Html = route.answer {
        reply.media_type = "text/html; charset=utf-8";
    }
    let named = answer.headers.into_iter();
    let named = named.filter_map(|(name, v)| Some((HeaderName::try_from(name).ok()?, v)));
    reply.headers = named.collect();
    Ok(reply)
}

/// The headers that are text, with lowercase names.
fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    headers.iter().filter_map(text).collect()
}
