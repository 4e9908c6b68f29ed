//! `GET /operations/{id}`: a bulk operation with its progress.

use hyper::{Method, StatusCode};
use keyloom::Error;
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
struct ReadOperation;

pub(super) fn read_operation() -> Operation {
    let (name, path) = ("read_operation".to_owned(), Segment::path("/operations/{id}"));
    Operation::new(name, Method::GET, path, ReadOperation)
}

impl Action for ReadOperation {
    fn access(&self) -> Access {
        Access::Role(Role::Writer)
    }

    fn describe(&self, _: &Model) -> Description {
        Description {
            is_of_all_entities: true,
            answers: vec![Answer::json(200, "The operation.", component("BulkOperation"))],
            problems: vec![Kind::BadParameter, Kind::NotFound],
            ..Description::new(Group::Together, "Read the progress of an operation")
        }
    }

    fn run<'c>(&'c self, _: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call))
    }
}

async fn run(call: &Call) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let id = call.value(0);
    let found = call.db.bulk_operation(id).await?;
    let missing = || Error::NotFound { entity: "operation".to_owned(), id: id.to_owned() };
    let operation = found.ok_or_else(missing)?;
    Ok(Reply::json(StatusCode::OK, to_json(&operation).to_string()))
}
