//! `GET /docs`: the API reference.

use std::future::ready;

use hyper::Method;
use keyloom_model::Model;

use super::super::call::Call;
use super::super::openapi::{Answer, AnswerHeader, Description, Group, if_changed};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::segment::Segment;
use super::super::state::State;

#[derive(Debug)]
struct Docs;

pub(super) fn docs() -> Operation {
    Operation::new("docs".to_owned(), Method::GET, Segment::path("/docs"), Docs)
}

impl Action for Docs {
    fn access(&self) -> Access {
        Access::Public
    }

    fn describe(&self, _: &Model) -> Description {
        let page = Answer::text("text/html").with(&[AnswerHeader::ETag]);
        Description {
            headers: vec![if_changed()],
            details: vec!["For people, with forms to try each operation.".to_owned()],
            answers: vec![page, Answer::not_modified()],
            ..Description::new(Group::Service, "This API as a page")
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(ready(Ok(state.pages.docs.reply(&call.headers))))
    }

    fn is_immediate(&self) -> bool {
        true
    }
}
