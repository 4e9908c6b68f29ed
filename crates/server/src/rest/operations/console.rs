//! `GET /console`: the console, a page for administrators.

use std::future::ready;

use hyper::Method;
use keyloom_model::Model;

use super::super::call::Call;
use super::super::openapi::{Answer, AnswerHeader, Description, Group, if_changed};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::segment::Segment;
use super::super::state::State;

#[derive(Debug)]
struct Console;

pub(super) fn console() -> Operation {
    Operation::new("console".to_owned(), Method::GET, Segment::path("/console"), Console)
}

impl Action for Console {
    fn access(&self) -> Access {
        Access::Public
    }

    fn describe(&self, _: &Model) -> Description {
        let page = Answer::text("text/html").with(&[AnswerHeader::ETag]);
        Description {
            headers: vec![if_changed()],
            details: vec!["For administrators: data, model, live changes and operations. The page itself has no data.".to_owned()],
            answers: vec![page, Answer::not_modified()],
            ..Description::new(Group::Service, "The console")
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(ready(Ok(state.pages.console.reply(&call.headers))))
    }

    fn is_immediate(&self) -> bool {
        true
    }
}
