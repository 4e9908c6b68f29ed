//! The declared queries, from the OpenAPI document of the server.
//!
//! The document is the list of operations that the server routes requests by. So the tools offer exactly
//! what the server serves: nothing that an application has closed, and no other path at all.

use keyloom_model::nearest;
use serde_json::{Map, Value as Json, json};

use crate::parameter::Parameter;
use crate::query_kind::QueryKind;
use crate::target::Target;
use crate::tool_error::ToolError;

/// Groups of operations that are about no entity.
const OTHER_GROUPS: [&str; 4] = ["Application", "Together", "Tokens", "Service"];
/// Members of entities that are not fields.
const OTHER_MEMBERS: [&str; 4] = ["id", "version", "explain", "with"];
/// How many queries an error suggests.
const SUGGESTED_MAX: usize = 5;

/// What the server serves.
#[derive(Debug)]
pub(crate) struct Catalog {
    pub(crate) entities: Vec<CatalogEntity>,
    pub(crate) queries: Vec<Query>,
}

/// An entity.
#[derive(Debug)]
pub(crate) struct CatalogEntity {
    pub(crate) name: String,
    pub(crate) fields: Vec<CatalogField>,
}

/// A field.
#[derive(Debug)]
pub(crate) struct CatalogField {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) is_optional: bool,
}

/// A declared query.
#[derive(Debug)]
pub(crate) struct Query {
    /// The name of its operation.
    pub(crate) name: String,
    pub(crate) entity: String,
    pub(crate) kind: QueryKind,
    pub(crate) about: String,
    path: String,
    parameters: Vec<Parameter>,
}

impl Catalog {
    /// Reads an OpenAPI document.
    pub(crate) fn read(document: &Json) -> Catalog {
        let tags = document["tags"].as_array().into_iter().flatten();
        let names = tags.filter_map(|tag| tag["name"].as_str());
        let names = names.filter(|name| !OTHER_GROUPS.contains(name));
        let schemas = &document["components"]["schemas"];
        let entities = names.map(|name| CatalogEntity::read(name, &schemas[name])).collect();
        let paths = document["paths"].as_object().into_iter().flatten();
        let queries = paths.filter_map(|(path, methods)| Query::read(path, &methods["get"]));
        Catalog { entities, queries: queries.collect() }
    }

    /// The entity with a name.
    pub(crate) fn entity(&self, name: &str) -> Result<&CatalogEntity, ToolError> {
        let names: Vec<&str> = self.entities.iter().map(|entity| &*entity.name).collect();
        self.entities.iter().find(|entity| entity.name == name).ok_or_else(|| {
            let help = match nearest(name, &names) {
                Some(close) => format!("Did you mean `{close}`?"),
                None => format!("The entities are `{}`.", names.join("`, `")),
            };
            ToolError::new("unknown-entity", format!("The model has no entity `{}`.", cut(name)))
                .with_hint(help)
        })
    }

    pub(crate) fn queries_of<'c>(&'c self, entity: &str) -> impl Iterator<Item = &'c Query> {
        self.queries.iter().filter(move |query| query.entity == entity)
    }

    /// The query of an entity with a name: that of its operation, or the part of it that is its own if no
    /// other query of the entity has the same.
    pub(crate) fn query(&self, entity: &str, name: &str) -> Result<&Query, ToolError> {
        self.entity(entity)?;
        if let Some(query) = self.queries_of(entity).find(|query| query.name == name) {
            return Ok(query);
        }
        let mut short = self.queries_of(entity).filter(|query| query.is_called(name));
        match (short.next(), short.next()) {
            (Some(query), None) => Ok(query),
            _ => Err(self.undeclared(entity, name)),
        }
    }

    fn undeclared(&self, entity: &str, name: &str) -> ToolError {
        let mut close: Vec<&Query> = self.queries_of(entity).collect();
        close.sort_by_key(|query| std::cmp::Reverse(query.likeness(name)));
        let close: Vec<Json> =
            close.into_iter().take(SUGGESTED_MAX).map(Query::signature_json).collect();
        let message = format!("The model declares no query `{}` of `{entity}`.", cut(name));
        let hint = "Use one of the declared queries below; `describe_model` lists all of them. For \
                    another one, call `propose`: it returns the declaration to add to the model.";
        let details = json!({ "nearest": close });
        ToolError::new("not-declared", message).with_hint(hint).with_details(details)
    }
}

impl CatalogEntity {
    fn read(name: &str, schema: &Json) -> CatalogEntity {
        let required = schema["required"].as_array().into_iter().flatten();
        let required: Vec<&str> = required.filter_map(Json::as_str).collect();
        let members = schema["properties"].as_object().into_iter().flatten();
        let members = members.filter(|(name, _)| !OTHER_MEMBERS.contains(&name.as_str()));
        let fields = members.map(|(name, member)| CatalogField {
            name: name.clone(),
            about: member["description"].as_str().unwrap_or_default().to_owned(),
            is_optional: !required.contains(&name.as_str()),
        });
        CatalogEntity { name: name.to_owned(), fields: fields.collect() }
    }
}

impl Query {
    /// The query that a GET operation is; `None` if it is none.
    fn read(path: &str, operation: &Json) -> Option<Query> {
        let entity = operation["tags"][0].as_str().filter(|tag| !OTHER_GROUPS.contains(tag))?;
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let parameters: Vec<Parameter> = parameters.filter_map(Parameter::read).collect();
        // Every query can be explained, and nothing else.
        parameters.iter().find(|parameter| parameter.is_option("explain", &parameters))?;
        let name = operation["operationId"].as_str()?.to_owned();
        let text = |name: &str| operation[name].as_str().unwrap_or_default();
        let details = text("description").split("\n\n");
        let details = details.filter(|text| !text.is_empty() && !text.starts_with("Requires "));
        let about: Vec<&str> = [text("summary")].into_iter().chain(details).collect();
        Some(Query {
            kind: QueryKind::of(&name).0,
            name,
            entity: entity.to_owned(),
            about: about.join(". ").replace("..", "."),
            path: path.to_owned(),
            parameters,
        })
    }

    /// The parameters that callers give.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| !parameter.is_handled(&self.parameters))
    }

    /// Its name and parameters in one line: `list_task_open(tag?)`.
    pub(crate) fn signature(&self) -> String {
        let parameter = |one: &Parameter| {
            let mark = if one.is_required { "" } else { "?" };
            format!("{}{mark}", one.name)
        };
        let parameters: Vec<String> = self.parameters().map(parameter).collect();
        format!("{}({})", self.name, parameters.join(", "))
    }

    fn signature_json(&self) -> Json {
        json!({ "query": self.name, "signature": self.signature(), "about": self.about })
    }

    /// The wire name of an option that the query has.
    pub(crate) fn option(&self, option: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|one| one.is_option(option, &self.parameters));
        found.map(|parameter| &*parameter.name)
    }

    /// The request with these values of parameters.
    pub(crate) fn target(&self, given: &Map<String, Json>) -> Result<Target, ToolError> {
        let known: Vec<&str> = self.parameters().map(|parameter| &*parameter.name).collect();
        if let Some(name) = given.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(self.unknown_parameter(name, &known));
        }
        // Whether others are missing, the server decides: users need not name themselves.
        let mut target = Target::at(&self.path, |name| {
            let found = self.parameters.iter().find(|one| one.is_in_path && one.name == name);
            let (Some(parameter), Some(value)) = (found, given.get(name)) else {
                let message = format!("`{}` needs the parameter `{name}`.", self.name);
                let hint = format!("Its signature is {}.", self.signature());
                return Err(ToolError::argument(message).with_hint(hint));
            };
            Ok(parameter.texts(value)?.concat())
        })?;
        for parameter in self.parameters().filter(|parameter| !parameter.is_in_path) {
            let Some(value) = given.get(&parameter.name) else { continue };
            for text in parameter.texts(value)? {
                target = target.with(&parameter.name, &text)?;
            }
        }
        Ok(target)
    }

    fn unknown_parameter(&self, name: &str, known: &[&str]) -> ToolError {
        let help = match (nearest(name, known), known) {
            (Some(close), _) => format!("Did you mean `{close}`? "),
            (None, _) => String::new(),
        };
        let message = format!("`{}` has no parameter `{}`.", self.name, cut(name));
        let hint = format!(
            "{help}Its signature is {}. To filter or order by something else, call `propose`.",
            self.signature()
        );
        ToolError::argument(message).with_hint(hint)
    }

    /// Whether a short name means this query: `get`, or the name of a list, count or leaderboard. Those of
    /// values have the name of their list, and so none of their own.
    fn is_called(&self, name: &str) -> bool {
        let (kind, rest) = QueryKind::of(&self.name);
        let own = rest.strip_prefix(&*self.entity).and_then(|rest| rest.strip_prefix('_'));
        let own = own.unwrap_or(rest);
        match kind {
            QueryKind::Get => ["get", "read"].contains(&name),
            QueryKind::Values => false,
            kind => name == own || name == format!("{}_{own}", kind.name()),
        }
    }

    /// How many words of a name it shares.
    fn likeness(&self, name: &str) -> usize {
        let words = |text: &str| -> Vec<String> {
            text.split(|sign: char| !sign.is_alphanumeric()).map(str::to_lowercase).collect()
        };
        let own = words(&format!("{} {} {}", self.name, self.kind.name(), self.signature()));
        words(name).iter().filter(|word| !word.is_empty() && own.contains(word)).count()
    }
}

/// Shortens a text of a caller for a message.
pub(crate) fn cut(text: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    match text.char_indices().nth(CHARACTERS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
