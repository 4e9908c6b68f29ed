//! `POST /verify`: recomputes a part of the derived rows and compares it with what is stored.
//!
//! It repairs nothing, and leaves out counters: recounting them reads every row, which is too long for a
//! request. `keyloom verify` does both.

use hyper::{Method, StatusCode};
use keyloom::{Finding, VerifyPage};
use keyloom_model::Model;
use serde_json::{Value as Json, json};

use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Description, Group, query, verified_part};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::list_tokens::check_unbound;

const AFTER: &str = "after";

const DETAILS: &str = "\
Recomputes what the entities in one part of the table imply (positions in lists, unique values, references, \
posting lists) and compares it with what is stored. To verify everything, start without `after`, and repeat \
with the `next` of each response until there is none. Nothing is changed: `keyloom verify --repair` repairs \
findings. Counts and leaderboards are not verified here, because that reads every row: `keyloom verify` does.";

#[derive(Debug)]
struct Verify;

pub(super) fn verify() -> Operation {
    Operation::new("verify".to_owned(), Method::POST, Segment::path("/verify"), Verify)
}

impl Action for Verify {
    fn access(&self) -> Access {
        Access::Role(Role::Admin)
    }

    fn describe(&self, _: &Model) -> Description {
        let position = json!({ "type": "string" });
        Description {
            details: vec![DETAILS.to_owned()],
            query: vec![query(AFTER, "The `next` of another part.", position)],
            answers: vec![Answer::json(200, "The result for one part.", verified_part())],
            problems: vec![Kind::BadParameter],
            ..Description::new(Group::Service, "Verify a part of the derived data")
        }
    }

    fn run<'c>(&'c self, _: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call))
    }
}

async fn run(call: &Call) -> Result<Reply, Problem> {
    call.check_parameters(&[AFTER])?;
    check_unbound(call)?;
    let page = call.db.verify_page_without_counters(call.parameter(AFTER)?).await?;
    Ok(Reply::json(StatusCode::OK, to_json(&page).to_string()))
}

fn to_json(page: &VerifyPage) -> Json {
    let finding = |finding: &Finding| {
        json!({
            "entity": finding.entity, "id": finding.id, "problem": finding.to_string(),
        })
    };
    let unverified = if page.leaves_counters { vec!["counters"] } else { vec![] };
    let mut part = json!({
        "findings": page.findings.iter().map(finding).collect::<Vec<_>>(),
        "rows": page.progress.rows,
        "rows_total": page.progress.rows_total,
        "unverified": unverified,
    });
    if let Some(next) = &page.next {
        part["next"] = json!(next);
    }
    part
}
