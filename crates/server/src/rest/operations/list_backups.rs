//! `GET /console/backups`: the backups in the folder of the operator.

use hyper::{Method, StatusCode};
use keyloom_model::Model;
use serde_json::{Value as Json, json};

use super::super::backups::KeptBackup;
use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Description, Group, backup_list};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::backup_json::{backups, to_json};
use super::list_tokens::check;

#[derive(Debug)]
struct ListBackups;

pub(super) fn list_backups() -> Operation {
    let path = Segment::path("/console/backups");
    Operation::new("list_backups".to_owned(), Method::GET, path, ListBackups)
}

impl Action for ListBackups {
    fn access(&self) -> Access {
        Access::Role(Role::Admin)
    }

    fn describe(&self, _: &Model) -> Description {
        let details = "`latest` is the one that was started last, with its progress, since the server was started.";
        Description {
            details: vec![details.to_owned()],
            answers: vec![Answer::json(200, "The backups, the newest first.", backup_list())],
            problems: vec![Kind::BadParameter, Kind::WrongState],
            ..Description::new(Group::Service, "List backups")
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(std::future::ready(run(state, call)))
    }
}

fn run(state: &State, call: &Call) -> Result<Reply, Problem> {
    check(call)?;
    let backups = backups(state)?;
    let kept = backups.kept().map_err(|error| {
        let detail = "The folder of backups cannot be read.";
        Problem::new(Kind::Internal, detail).with_cause(error.to_string())
    })?;
    let shown = |one: &KeptBackup| json!({ "name": one.name, "bytes": one.bytes });
    let mut list = json!({ "items": kept.iter().map(shown).collect::<Vec<Json>>() });
    if let Some(latest) = backups.latest() {
        list["latest"] = to_json(&latest);
    }
    Ok(Reply::json(StatusCode::OK, list.to_string()))
}
