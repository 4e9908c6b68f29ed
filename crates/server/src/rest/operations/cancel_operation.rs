//! `DELETE /operations/{id}`: cancels a bulk operation.

use hyper::{Method, StatusCode};
use keyloom_model::Model;

use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Description, Group, component};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::bulk_json::to_json;

#[derive(Debug)]
struct CancelOperation;

pub(super) fn cancel_operation() -> Operation {
    let (name, path) = ("cancel_operation".to_owned(), Segment::path("/operations/{id}"));
    Operation::new(name, Method::DELETE, path, CancelOperation)
}

impl Action for CancelOperation {
    fn access(&self) -> Access {
        Access::Role(Role::Writer)
    }

    fn describe(&self, _: &Model) -> Description {
        let details = "What it has changed stays changed. Nothing more changes after the response.";
        Description {
            details: vec![details.to_owned()],
            is_of_all_entities: true,
            answers: vec![Answer::json(200, "Canceled.", component("BulkOperation"))],
            problems: vec![Kind::BadParameter, Kind::NotFound, Kind::WrongState],
            ..Description::new(Group::Together, "Cancel an operation")
        }
    }

    fn run<'c>(&'c self, _: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call))
    }
}

async fn run(call: &Call) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let canceled = call.db.cancel_bulk(call.value(0)).await?;
    Ok(Reply::json(StatusCode::OK, to_json(&canceled).to_string()))
}
