//! `GET /operations`: the bulk operations of the tenant, the newest first.

use hyper::{Method, StatusCode};
use keyloom_model::Model;
use serde_json::{Value as Json, json};

use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Description, Group, bulk_operations, cursor, limit};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::reserved::{CURSOR, LIMIT};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::bulk_json::to_json;

const PAGE: u32 = 20;
const PAGE_MAX: u32 = 100;

#[derive(Debug)]
struct ListOperations;

pub(super) fn list_operations() -> Operation {
    let (name, path) = ("list_operations".to_owned(), Segment::path("/operations"));
    Operation::new(name, Method::GET, path, ListOperations)
}

impl Action for ListOperations {
    fn access(&self) -> Access {
        Access::Role(Role::Writer)
    }

    fn describe(&self, _: &Model) -> Description {
        let details = "Changes and deletions of all entities of a list, which run in the background. \
                       Ended ones are kept for a week.";
        Description {
            details: vec![details.to_owned()],
            query: vec![limit(PAGE, "Maximum number of results; at most 100."), cursor()],
            is_of_all_entities: true,
            answers: vec![Answer::json(200, "A page of operations.", bulk_operations())],
            problems: vec![Kind::BadParameter],
            ..Description::new(Group::Together, "List operations")
        }
    }

    fn is_paged(&self) -> bool {
        true
    }

    fn run<'c>(&'c self, _: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call))
    }
}

async fn run(call: &Call) -> Result<Reply, Problem> {
    call.check_parameters(&[LIMIT, CURSOR])?;
    let limit = call.limit()?.unwrap_or(PAGE).min(PAGE_MAX);
    let before = call.parameter(CURSOR)?;
    let found = call.db.bulk_operations(before, limit).await?;
    let is_full = u32::try_from(found.len()).is_ok_and(|count| count == limit);
    let next = found.last().filter(|_| is_full).map(|last| last.id.clone());
    let items: Vec<Json> = found.iter().map(to_json).collect();
    let mut page = json!({ "items": items });
    if let Some(next) = next {
        page["next"] = json!(next);
    }
    Ok(Reply::json(StatusCode::OK, page.to_string()))
}
