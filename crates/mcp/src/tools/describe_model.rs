//! `describe_model`: entities, fields and declared queries.

use std::fmt::Write as _;

use keyloom_model::{Layout, Model};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::catalog::{Catalog, CatalogEntity, Query};
use crate::served_model::ServedModel;
use crate::session::Session;
use crate::tool::ReadOnlyTool;
use crate::tool_error::ToolError;

pub(crate) struct DescribeModel;

/// What to describe.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DescribeArguments {
    /// Describe only this entity.
    entity: Option<String>,
    /// Include the text of the model (TOML), as `check_model` and `diff_model` take it.
    #[serde(default)]
    source: bool,
}

/// The model.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DescribeOutput {
    /// The entities.
    entities: Vec<EntityOutput>,
    /// The text of the model, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// What is missing, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// An entity.
#[derive(Debug, Serialize, JsonSchema)]
struct EntityOutput {
    /// Its name.
    name: String,
    /// Its fields. Each entity also has an `id` and a `version`.
    fields: Vec<FieldOutput>,
    /// Its declared queries.
    queries: Vec<QueryOutput>,
    /// The most rows that one write of it touches.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_per_write_max: Option<usize>,
}

/// A field.
#[derive(Debug, Serialize, JsonSchema)]
struct FieldOutput {
    name: String,
    /// Its values.
    about: String,
    /// Whether an entity can lack it.
    optional: bool,
}

/// A declared query.
#[derive(Debug, Serialize, JsonSchema)]
struct QueryOutput {
    /// Its name, for the tools `query` and `explain`.
    name: String,
    /// `get`, `list`, `children`, `count`, `board`, `rank` or `values`.
    kind: &'static str,
    /// What it returns.
    about: String,
    /// Its parameters.
    parameters: Vec<ParameterOutput>,
    /// What it reads at most.
    cost: &'static str,
    #[serde(skip)]
    signature: String,
}

/// A parameter of a query.
#[derive(Debug, Serialize, JsonSchema)]
struct ParameterOutput {
    name: String,
    required: bool,
    about: String,
}

impl ReadOnlyTool for DescribeModel {
    const NAME: &'static str = "describe_model";
    const TITLE: &'static str = "Describe the model";
    const ABOUT: &'static str = "List the entities of the database with their fields, and the declared \
        queries of each with parameters and cost. Call this first: `query` runs nothing else. For a large \
        model, name one `entity`.";
    type Arguments = DescribeArguments;
    type Output = DescribeOutput;

    async fn run(
        session: Session,
        arguments: DescribeArguments,
    ) -> Result<DescribeOutput, ToolError> {
        let catalog = session.catalog().await?;
        let chosen: Vec<&CatalogEntity> = match &arguments.entity {
            Some(name) => vec![catalog.entity(name)?],
            None => catalog.entities.iter().collect(),
        };
        // Users whom access rules limit see what they can query, but not the model.
        let (served, note) = match session.model().await {
            Ok(served) => (Some(served), None),
            Err(error) if error.has_code("forbidden") => {
                (None, Some("The token may not read the model file.".to_owned()))
            }
            Err(error) => return Err(error),
        };
        let layout = served.as_ref().map(|served| layout(&served.model));
        let entities = chosen.into_iter();
        let entities = entities.map(|entity| describe(entity, &catalog, layout.as_ref())).collect();
        let source = served.filter(|_| arguments.source).map(|ServedModel { text, .. }| text);
        Ok(DescribeOutput { entities, source, note })
    }

    fn text(output: &DescribeOutput) -> Option<String> {
        let mut text = String::new();
        for entity in &output.entities {
            // Writing to a string does not fail.
            let _ = write_entity(entity, &mut text);
        }
        for part in [&output.note, &output.source].into_iter().flatten() {
            let _ = writeln!(text, "{part}");
        }
        Some(text)
    }
}

/// Where everything is kept, as in a new table.
pub(super) fn layout(model: &Model) -> Layout {
    Layout::new(model.clone(), 1, &Default::default())
}

fn describe(entity: &CatalogEntity, catalog: &Catalog, layout: Option<&Layout>) -> EntityOutput {
    let fields = entity.fields.iter().map(|field| FieldOutput {
        name: field.name.clone(),
        about: field.about.clone(),
        optional: field.is_optional,
    });
    let rows = layout.and_then(|layout| {
        let id = layout.model().find(&entity.name)?;
        Some(layout.rows_max(id))
    });
    EntityOutput {
        name: entity.name.clone(),
        fields: fields.collect(),
        queries: catalog.queries_of(&entity.name).map(describe_query).collect(),
        rows_per_write_max: rows,
    }
}

fn describe_query(query: &Query) -> QueryOutput {
    let parameters = query.parameters().map(|parameter| ParameterOutput {
        name: parameter.name.clone(),
        required: parameter.is_required,
        about: parameter.about.clone(),
    });
    QueryOutput {
        name: query.name.clone(),
        kind: query.kind.name(),
        about: query.about.clone(),
        parameters: parameters.collect(),
        cost: query.kind.cost(),
        signature: query.signature(),
    }
}

fn write_entity(entity: &EntityOutput, text: &mut String) -> std::fmt::Result {
    writeln!(text, "{}", entity.name)?;
    for FieldOutput { name, about, optional } in &entity.fields {
        let optional = if *optional { " Optional." } else { "" };
        writeln!(text, "  {name}: {about}{optional}")?;
    }
    for query in &entity.queries {
        writeln!(text, "  {}: {} Reads {}.", query.signature, query.about, query.cost)?;
    }
    if let Some(rows) = entity.rows_per_write_max {
        writeln!(text, "  A write touches at most {rows} rows.")?;
    }
    writeln!(text)
}
