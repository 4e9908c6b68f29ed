//! `POST /model`: checks another model, and says what changing to it would do. Changes nothing.

use hyper::{Method, StatusCode};
use keyloom::{Error, Item, MigrationPlan, Value};
use keyloom_model::{Model, ModelError};
use serde_json::{Value as Json, json};

use super::super::call::{Call, Reply, cut};
use super::super::openapi::{Answer, BODY, Body, Description, Group, compared_model, model_text};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;

/// The longest text of a model that is checked, in characters.
pub(crate) const TEXT_LENGTH_MAX: usize = 1 << 17;

#[derive(Debug)]
struct CompareModel;

pub(super) fn compare_model() -> Operation {
    Operation::new("compare_model".to_owned(), Method::POST, Segment::path("/model"), CompareModel)
}

impl Action for CompareModel {
    fn access(&self) -> Access {
        Access::Role(Role::Reader)
    }

    fn describe(&self, _: &Model) -> Description {
        let details = "Changes nothing and reads no entities: `keyloom migrate --plan` counts what would be \
                       rewritten, and finds values that do not fit.";
        let example = json!({ "text": "[entity.note]\nfields.text = \"text 1..200\"\n" });
        Description {
            details: vec![details.to_owned()],
            body: Some(Body::json(model_text(), Some(example))),
            answers: vec![Answer::json(200, "Its errors, or what would change.", compared_model())],
            problems: [BODY, &[Kind::BadParameter, Kind::Invalid]].concat(),
            ..Description::new(Group::Service, "Compare a model with the one that is served")
        }
    }

    fn run<'c>(&'c self, _: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call))
    }
}

async fn run(call: &Call) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let text = text(call.document()?)?;
    let (errors, plan) = match call.db.compare_model(&text).await {
        Ok(plan) => (vec![], plan),
        Err(Error::Model(errors)) => (errors, MigrationPlan::default()),
        Err(error) => return Err(error.into()),
    };
    let answer = json!({
        "errors": errors.iter().map(shown).collect::<Vec<_>>(),
        "changes": plan.changes,
        "refusals": plan.refusals,
        "rewritten": plan.rewritten.keys().collect::<Vec<_>>(),
        "unavailable": plan.unavailable,
    });
    Ok(Reply::json(StatusCode::OK, answer.to_string()))
}

/// Parses `{"text": ...}`.
fn text(mut document: Item) -> Result<String, Problem> {
    let invalid = |detail: String| Err(Problem::new(Kind::Invalid, detail));
    let text = document.remove("text");
    if let Some(name) = document.names().next() {
        return invalid(format!("Unknown member `{}`: there is only `text`.", cut(name.as_str())));
    }
    match text {
        Some(Value::S(text)) if text.chars().count() <= TEXT_LENGTH_MAX => Ok(text),
        Some(Value::S(_)) => invalid(format!("`text` has at most {TEXT_LENGTH_MAX} characters.")),
        _ => invalid("`text` must be the text of a model.".to_owned()),
    }
}

fn shown(error: &ModelError) -> Json {
    json!({
        "code": error.code().as_str(), "line": error.line(), "column": error.column(),
        "reason": error.reason(), "help": error.help(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_refused() {
        let document = |length: usize| Item::from([("text", Value::from("é".repeat(length)))]);
        assert!(text(document(TEXT_LENGTH_MAX)).is_ok());
        assert!(text(document(TEXT_LENGTH_MAX + 1)).is_err());
    }
}
