//! `GET /docs` and `GET /console`: pages for people. They have no data of their own.

use std::future::ready;

use hyper::Method;
use keyloom_model::Model;

use super::super::call::Call;
use super::super::openapi::{Answer, AnswerHeader, Description, Group, if_changed};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::pages::{Page, Pages};
use super::super::segment::Segment;
use super::super::state::State;

#[derive(Debug)]
struct HtmlPage {
    summary: &'static str,
    details: &'static str,
    page: fn(&Pages) -> &Page,
}

/// The API reference.
pub(super) fn docs() -> Operation {
    let page = HtmlPage {
        summary: "This API as a page",
        details: "For people, with forms to try each operation.",
        page: |pages| &pages.docs,
    };
    Operation::new("docs".to_owned(), Method::GET, Segment::path("/docs"), page)
}

/// The console.
pub(super) fn console() -> Operation {
    let page = HtmlPage {
        summary: "The console",
        details: "For administrators: data, model, live changes and operations. The page itself has no \
                  data.",
        page: |pages| &pages.console,
    };
    Operation::new("console".to_owned(), Method::GET, Segment::path("/console"), page)
}

impl Action for HtmlPage {
    fn access(&self) -> Access {
        Access::Public
    }

    fn describe(&self, _: &Model) -> Description {
        let page = Answer::text("text/html").with(&[AnswerHeader::ETag]);
        Description {
            headers: vec![if_changed()],
            details: vec![self.details.to_owned()],
            answers: vec![page, Answer::not_modified()],
            ..Description::new(Group::Service, self.summary)
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(ready(Ok((self.page)(&state.pages).reply(&call.headers))))
    }

    fn is_immediate(&self) -> bool {
        true
    }
}
