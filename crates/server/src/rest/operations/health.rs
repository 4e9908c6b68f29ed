//! `GET /healthz`: whether the server is up.

use std::future::ready;

use hyper::{Method, StatusCode};
use keyloom_model::Model;

use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Description, Group};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::segment::Segment;
use super::super::state::State;

#[derive(Debug)]
struct Health;

pub(super) fn health() -> Operation {
    Operation::new("health".to_owned(), Method::GET, Segment::path("/healthz"), Health)
}

impl Action for Health {
    fn access(&self) -> Access {
        Access::Public
    }

    fn describe(&self, _: &Model) -> Description {
        Description {
            details: vec![
                "Succeeds as soon as the server accepts requests. Reads no data.".to_owned(),
            ],
            answers: vec![Answer::status("It is up.", "ok")],
            ..Description::new(Group::Service, "Check whether the server is up")
        }
    }

    fn run<'c>(&'c self, _: &'c State, _: &'c Call) -> Running<'c> {
        Box::pin(ready(Ok(Reply::json(StatusCode::OK, r#"{"status":"ok"}"#))))
    }

    fn is_immediate(&self) -> bool {
        true
    }
}
