//! `POST /console/backups`: starts a backup.

use hyper::{Method, StatusCode};
use keyloom_model::Model;

use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Description, Group, component};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::backup_json::{backups, to_json};
use super::list_tokens::check;

#[derive(Debug)]
struct CreateBackup;

pub(super) fn create_backup() -> Operation {
    let path = Segment::path("/console/backups");
    Operation::new("create_backup".to_owned(), Method::POST, path, CreateBackup)
}

impl Action for CreateBackup {
    fn access(&self) -> Access {
        Access::Role(Role::Admin)
    }

    fn describe(&self, _: &Model) -> Description {
        let details = "Copies all data, of every tenant, into a new directory of the folder that the operator has \
                       chosen with `--backup-dir`, in the background. One at a time. `keyloom restore` reads it.";
        Description {
            details: vec![details.to_owned()],
            answers: vec![Answer::json(202, "Started.", component("Backup"))],
            problems: vec![Kind::BadParameter, Kind::WrongState, Kind::WritesRefused],
            ..Description::new(Group::Service, "Start a backup")
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(std::future::ready(run(state, call)))
    }
}

fn run(state: &State, call: &Call) -> Result<Reply, Problem> {
    check(call)?;
    let started = backups(state)?.start(state.tokens.now(), state.is_stopped.subscribe())?;
    Ok(Reply::json(StatusCode::ACCEPTED, to_json(&started).to_string()))
}
