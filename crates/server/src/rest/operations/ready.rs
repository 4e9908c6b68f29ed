//! `GET /readyz`: whether the server can read and write its data.

use hyper::{Method, StatusCode};
use keyloom::Error;
use keyloom_model::Model;

use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Description, Group};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::Kind;
use super::super::segment::Segment;
use super::super::state::State;
use crate::readiness::READY;

#[derive(Debug)]
struct Ready;

pub(super) fn ready() -> Operation {
    Operation::new("ready".to_owned(), Method::GET, Segment::path("/readyz"), Ready)
}

impl Action for Ready {
    fn access(&self) -> Access {
        Access::Public
    }

    fn describe(&self, _: &Model) -> Description {
        Description {
            details: vec!["For load balancers: send no requests while it fails.".to_owned()],
            answers: vec![Answer::status("It is ready.", "ready")],
            problems: vec![Kind::WritesRefused],
            ..Description::new(
                Group::Service,
                "Check whether the server can read and write its data",
            )
        }
    }

    fn run<'c>(&'c self, state: &'c State, _: &'c Call) -> Running<'c> {
        let checked = state.readiness.check().map(|()| Reply::json(StatusCode::OK, READY));
        Box::pin(std::future::ready(checked.map_err(|error| Error::Store(error).into())))
    }

    fn is_immediate(&self) -> bool {
        true
    }
}
