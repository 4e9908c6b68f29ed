//! Backups as JSON, and where they are.

use keyloom::Value;
use keyloom_model::FieldType;
use serde_json::{Value as Json, json};

use super::super::backups::{Backup, BackupState, Backups};
use super::super::problem::{Kind, Problem};
use super::super::state::State;

/// The backups of a server, if its operator wants any.
pub(super) fn backups(state: &State) -> Result<&Backups, Problem> {
    state.backups.as_deref().ok_or_else(|| {
        let detail = "This server takes no backups on request: start it with a data directory and `--backup-dir`, or \
                      use `keyloom backup`.";
        Problem::new(Kind::WrongState, detail)
    })
}

/// A backup with its progress.
pub(super) fn to_json(backup: &Backup) -> Json {
    let (state, problem) = match &backup.state {
        BackupState::Running => ("running", None),
        BackupState::Done => ("done", None),
        BackupState::Failed(problem) => ("failed", Some(problem)),
    };
    let started_ms = i64::try_from(backup.started.0).unwrap_or(i64::MAX);
    let mut shown = json!({ "name": backup.name, "state": state, "rows": backup.rows });
    if let Value::S(started) = FieldType::Time.to_external(&Value::from(started_ms)) {
        shown["started"] = json!(started);
    }
    if let Some(problem) = problem {
        shown["problem"] = json!(problem);
    }
    shown
}
