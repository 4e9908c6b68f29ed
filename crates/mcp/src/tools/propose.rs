//! `propose`: the declaration that a query needs, and what it costs.

use keyloom_model::{Direction, Entity, Model, ModelError, nearest};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::describe_model::layout;
use super::diff_model::{DiffOutput, diff};
use crate::catalog::cut;
use crate::patch::{Declaration, DeclarationKind, Patched};
use crate::price::Price;
use crate::served_model::ServedModel;
use crate::session::Session;
use crate::tool::ReadOnlyTool;
use crate::tool_error::ToolError;

/// Fields of one kind in a proposal; the model language has limits of its own.
const FIELDS_MAX: usize = 8;

pub(crate) struct Propose;

/// What to query.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProposeArguments {
    /// The name of the entity.
    entity: String,
    /// Fields that requests name exact values of.
    #[serde(default)]
    filter_by: Vec<String>,
    /// Fields that rows are ordered by; descending with `-` before the name. Makes a list.
    #[serde(default)]
    order_by: Vec<String>,
    /// Fields whose values are counted, for all entities or those that `filter_by` selects. Makes a
    /// count; an exact one, however many entities there are.
    #[serde(default)]
    count_by: Vec<String>,
    /// The name of the declaration [default: made from the fields].
    name: Option<String>,
}

/// A declaration for the model.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProposeOutput {
    /// What is declared, such as `task.list.by_rank`.
    declares: String,
    /// The text to add at the end of the model file (TOML).
    patch: String,
    /// What it changes for existing data.
    changes: DiffOutput,
    /// What it costs.
    cost: CostOutput,
    /// How to continue.
    next_step: String,
}

/// What a declaration costs.
#[derive(Debug, Serialize, JsonSchema)]
struct CostOutput {
    /// The most rows that a write of the entity touches, now and with it.
    rows_per_write_max: [usize; 2],
    /// The indexes that the table needs, now and with it. Lists of different entities share them.
    indexes: [usize; 2],
    /// Price on DynamoDB, measured with a sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    dynamodb: Option<Price>,
    /// Why there is no price.
    #[serde(skip_serializing_if = "Option::is_none")]
    unpriced: Option<String>,
}

impl ReadOnlyTool for Propose {
    const NAME: &'static str = "propose";
    const TITLE: &'static str = "Propose a declaration";
    const ABOUT: &'static str = "For a query that the model does not declare: give the entity and the fields \
        to filter by, order by or count by. Returns the declaration to add to the model file, checked \
        against the served model, what it changes for existing data, and what it costs in writes and \
        reads. Nothing is changed.";
    type Arguments = ProposeArguments;
    type Output = ProposeOutput;

    async fn run(
        session: Session,
        arguments: ProposeArguments,
    ) -> Result<ProposeOutput, ToolError> {
        let served = session.model().await?;
        let declaration = arguments.declaration(&served.model)?;
        let patched = declaration.apply(&served.text).map_err(|errors| invalid(&errors))?;
        let price = Price::measure(served.text.clone(), &patched, &declaration).await;
        Ok(output(&served, &declaration, &patched, price))
    }
}

fn output(
    served: &ServedModel,
    declaration: &Declaration,
    patched: &Patched,
    price: Result<Price, String>,
) -> ProposeOutput {
    let layouts = [layout(&served.model), layout(&patched.model)];
    let rows = |index: usize| {
        let id = layouts[index].model().find(&declaration.entity);
        id.map_or(0, |id| layouts[index].rows_max(id))
    };
    let (dynamodb, unpriced) = match price {
        Ok(price) => (Some(price), None),
        Err(why) => (None, Some(format!("No sample could be played: {why}"))),
    };
    ProposeOutput {
        declares: declaration.path(),
        patch: patched.patch.clone(),
        changes: diff(&served.model, &patched.model),
        cost: CostOutput {
            rows_per_write_max: [rows(0), rows(1)],
            indexes: [layouts[0].slot_count(), layouts[1].slot_count()],
            dynamodb,
            unpriced,
        },
        next_step: "Append the patch to the model file, then restart the server with it or send it SIGHUP. \
                    Existing rows are rewritten in the background; until then the query answers 503."
            .to_owned(),
    }
}

impl ProposeArguments {
    fn declaration(&self, model: &Model) -> Result<Declaration, ToolError> {
        let entity = self.found(model)?;
        let kind = match (self.count_by.is_empty(), self.order_by.is_empty()) {
            (true, true) if self.filter_by.is_empty() => {
                let message = "Give fields in `filter_by`, `order_by` or `count_by`.";
                return Err(ToolError::argument(message));
            }
            (true, _) => DeclarationKind::List,
            (false, true) => DeclarationKind::Count,
            (false, false) => {
                let message = "`order_by` makes a list, `count_by` a count: propose one at a time.";
                return Err(ToolError::argument(message));
            }
        };
        for name in self.filter_by.iter().chain(&self.count_by).chain(&self.order_by) {
            field(entity, name)?;
        }
        let keys = match kind {
            DeclarationKind::List => [("by", &self.filter_by), ("order", &self.order_by)],
            DeclarationKind::Count => [("by", &self.filter_by), ("split", &self.count_by)],
        };
        if kind == DeclarationKind::List {
            self.check_new(entity)?;
        }
        let keys = keys.into_iter().filter(|(_, fields)| !fields.is_empty());
        let keys = keys.map(|(key, fields)| (key, fields.clone())).collect();
        let name = self.name(entity, kind)?;
        Ok(Declaration { entity: entity.name.clone(), kind, name, keys })
    }

    fn found<'m>(&self, model: &'m Model) -> Result<&'m Entity, ToolError> {
        let too_many = [&self.filter_by, &self.order_by, &self.count_by]
            .into_iter()
            .any(|fields| fields.len() > FIELDS_MAX);
        if too_many {
            return Err(ToolError::argument(format!(
                "Give at most {FIELDS_MAX} fields of a kind."
            )));
        }
        let names: Vec<&str> = model.entities().map(|(_, entity)| &*entity.name).collect();
        let found = model.find(&self.entity).map(|id| model.entity(id));
        found.ok_or_else(|| unknown("The model has no entity", &self.entity, &names))
    }

    /// Refuses a list that exists already.
    fn check_new(&self, entity: &Entity) -> Result<(), ToolError> {
        let name = |id| entity.field(id).name.clone();
        let found = entity.lists().find(|(_, list)| {
            let mut by: Vec<String> = list.by.iter().map(|id| name(*id)).collect();
            let mut wanted = self.filter_by.clone();
            by.sort();
            wanted.sort();
            let order = list.order.iter().map(|order| match order.direction {
                Direction::Ascending => name(order.field),
                Direction::Descending => format!("-{}", name(order.field)),
            });
            list.filter.is_empty() && by == wanted && order.eq(self.order_by.iter().cloned())
        });
        match found {
            None => Ok(()),
            Some((_, list)) => {
                let (entity, list) = (&entity.name, &list.name);
                let message = format!("The list `{list}` of `{entity}` is already declared so.");
                Err(ToolError::new("already-declared", message)
                    .with_hint("Use it with `query`; `describe_model` has its parameters."))
            }
        }
    }

    fn name(&self, entity: &Entity, kind: DeclarationKind) -> Result<String, ToolError> {
        let is_taken = |name: &str| match kind {
            DeclarationKind::List => entity.lists().any(|(_, list)| list.name == name),
            DeclarationKind::Count => entity.counts().any(|(_, count)| count.name == name),
        };
        if let Some(name) = &self.name {
            let is_valid = name.len() <= 60
                && name.starts_with(|sign: char| sign.is_ascii_lowercase())
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            return match (is_valid, is_taken(name)) {
                (true, false) => Ok(name.clone()),
                (true, true) => Err(ToolError::argument(format!("`{name}` is in use."))),
                (false, _) => Err(ToolError::argument(
                    "`name` must have lowercase letters, digits and `_`, and begin with a letter.",
                )),
            };
        }
        let fields = self.filter_by.iter().chain(&self.order_by).chain(&self.count_by);
        let fields: Vec<&str> = fields.map(|field| field.trim_start_matches('-')).collect();
        let base = format!("by_{}", fields.join("_"));
        let numbered = (2..1000).map(|number| format!("{base}_{number}"));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        Ok(names.find(|name| !is_taken(name)).unwrap_or(base))
    }
}

fn field(entity: &Entity, name: &str) -> Result<(), ToolError> {
    let plain = name.strip_prefix('-').unwrap_or(name);
    let names: Vec<&str> = entity.fields().map(|(_, field)| &*field.name).collect();
    match names.contains(&plain) {
        true => Ok(()),
        false => Err(unknown(&format!("`{}` has no field", entity.name), plain, &names)),
    }
}

fn unknown(what: &str, name: &str, names: &[&str]) -> ToolError {
    let hint = match nearest(name, names) {
        Some(close) => format!("Did you mean `{close}`?"),
        None => format!("There are `{}`.", names.join("`, `")),
    };
    ToolError::argument(format!("{what} `{}`.", cut(name))).with_hint(hint)
}

/// The declaration breaks a rule of the model language.
fn invalid(errors: &[ModelError]) -> ToolError {
    let errors: Vec<_> = errors
        .iter()
        .map(|error| json!({ "code": error.code().as_str(), "reason": error.reason(), "help": error.help() }))
        .collect();
    ToolError::new("cannot-declare", "The model cannot have this declaration.")
        .with_hint("Choose other fields: each reason below says what a field can be used for.")
        .with_details(json!({ "errors": errors }))
}
