//! `GET /openapi.json`: the OpenAPI document.

use std::future::ready;

use hyper::Method;
use keyloom_model::Model;

use super::super::call::Call;
use super::super::openapi::{Answer, AnswerHeader, Description, Group, any_object, if_changed};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::segment::Segment;
use super::super::state::State;

#[derive(Debug)]
struct OpenApi;

pub(super) fn openapi() -> Operation {
    Operation::new("openapi".to_owned(), Method::GET, Segment::path("/openapi.json"), OpenApi)
}

impl Action for OpenApi {
    fn access(&self) -> Access {
        Access::Public
    }

    fn describe(&self, _: &Model) -> Description {
        let document = Answer::json(200, "The OpenAPI document.", any_object());
        Description {
            headers: vec![if_changed()],
            details: vec!["OpenAPI 3.1, for client generators and other tools.".to_owned()],
            answers: vec![document.with(&[AnswerHeader::ETag]), Answer::not_modified()],
            ..Description::new(Group::Service, "This API as an OpenAPI document")
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(ready(Ok(state.pages.openapi.reply(&call.headers))))
    }

    fn is_immediate(&self) -> bool {
        true
    }
}
