//! JSON Schemas of the OpenAPI document as shapes. Every object becomes a type with a name, because not
//! every language has types without one; equal objects are one type.

use serde_json::{Map, Value as Json};

use super::api::{Member, Shape, Type, TypeId};

/// Members that say what a part of a transaction or a batch does.
const VERBS: [&str; 5] = ["create", "update", "put", "delete", "get"];
/// The contexts of bodies of requests begin with this.
pub(super) const IN_BODY: &str = "body ";

/// Types, as they are found.
#[derive(Debug)]
pub(super) struct Types<'d> {
    schemas: &'d Json,
    found: Vec<Type>,
}

impl<'d> Types<'d> {
    /// Reads shapes of a document.
    pub(super) fn new(document: &'d Json) -> Types<'d> {
        Types { schemas: &document["components"]["schemas"], found: vec![] }
    }

    pub(super) fn into_found(self) -> Vec<Type> {
        self.found
    }

    /// The component of a name. It can contain itself, so it has its place before its members are read.
    pub(super) fn component(&mut self, name: &str) -> Shape {
        match name {
            "Anything" => return Shape::Anything,
            "Named" => return Shape::Named,
            _ => {}
        }
        if let Some(index) = self.found.iter().position(|found| found.name == name) {
            return Shape::Type(TypeId(index));
        }
        let schema = &self.schemas[name];
        let Some(properties) = schema["properties"].as_object() else {
            return self.shape(schema, name);
        };
        let index = self.found.len();
        self.found.push(Type { name: name.to_owned(), members: vec![], is_open: is_open(schema) });
        let members = self.members(schema, properties, name);
        if let Some(found) = self.found.get_mut(index) {
            found.members = members;
        }
        Shape::Type(TypeId(index))
    }

    /// The schema of a response. The result of an operation is a component only because several media types
    /// have it: it is a type of its method.
    pub(super) fn result(&self, schema: &'d Json) -> &'d Json {
        let is_result = reference(schema).is_some_and(|name| name.ends_with(".result"));
        if is_result { self.resolved(schema) } else { schema }
    }

    /// A schema, or the component that it refers to.
    pub(super) fn resolved(&self, schema: &'d Json) -> &'d Json {
        reference(schema).map_or(schema, |name| &self.schemas[name])
    }

    /// The schema of a member of a component.
    pub(super) fn property(&self, component: &str, name: &str) -> Option<&'d Json> {
        let property = &self.schemas[component]["properties"][name];
        property.is_object().then_some(property)
    }

    /// The shape of a schema. Objects in it are named after `context`.
    pub(super) fn shape(&mut self, schema: &Json, context: &str) -> Shape {
        if let Some(name) = reference(schema) {
            return self.component(name);
        }
        for several in ["anyOf", "oneOf"] {
            if let Some(schemas) = schema[several].as_array().filter(|_| !has_members(schema)) {
                let whole = schemas.iter().filter(|schema| !is_part(schema));
                return either(whole.map(|schema| self.shape(schema, context)).collect());
            }
        }
        if let Some(word) = schema["const"].as_str() {
            return Shape::Words(vec![word.to_owned()]);
        }
        if let Some(values) = schema["enum"].as_array() {
            return of_values(values);
        }
        match &schema["type"] {
            Json::Array(types) if schema["format"] == "date-time" => {
                let null = types.iter().any(|of| of == "null").then_some(Shape::Null);
                either([Shape::GivenTime].into_iter().chain(null).collect())
            }
            Json::Array(types) => {
                let shape =
                    |of: &Json| self.of_type(of.as_str().unwrap_or_default(), schema, context);
                either(types.iter().map(shape).collect())
            }
            of => self.of_type(of.as_str().unwrap_or_default(), schema, context),
        }
    }

    fn of_type(&mut self, of: &str, schema: &Json, context: &str) -> Shape {
        match of {
            "string" if schema["format"] == "date-time" => Shape::Time,
            "string" => Shape::Text,
            "integer" => Shape::Whole,
            "number" => Shape::Number,
            "boolean" => Shape::Bool,
            "null" => Shape::Null,
            "array" => Shape::List(Box::new(self.shape(&schema["items"], context))),
            "object" => self.object(schema, context),
            _ => Shape::Anything,
        }
    }

    fn object(&mut self, schema: &Json, context: &str) -> Shape {
        let Some(properties) = schema["properties"].as_object() else {
            let values = &schema["additionalProperties"];
            return Shape::Map(Box::new(self.shape(values, context)));
        };
        let members = self.members(schema, properties, context);
        let (name, is_open) = (name_of(properties, context), is_open(schema));
        self.named(Type { name, members, is_open })
    }

    fn members(
        &mut self,
        schema: &Json,
        properties: &Map<String, Json>,
        context: &str,
    ) -> Vec<Member> {
        // Of a response with or without `explain`, which no method requests for changes: without.
        let required = strings(&schema["required"]).chain(strings(&schema["anyOf"][0]["required"]));
        let required: Vec<&str> = required.collect();
        let mut members = vec![];
        // What the server sets is not part of a request.
        let is_sent = |name: &str, schema: &Json| match request_form(context) {
            None => true,
            Some("create") => schema["readOnly"] != true,
            // The path has the id.
            Some(_) => schema["readOnly"] != true && name != "id",
        };
        for (name, schema) in properties.iter().filter(|(name, schema)| is_sent(name, schema)) {
            let shape = self.shape(schema, &format!("{context}.{name}"));
            let is_required = required.contains(&name.as_str());
            let about = schema["description"].as_str().unwrap_or_default().to_owned();
            members.push(Member { name: name.clone(), shape, is_required, about });
        }
        members.sort_by_key(|member| !["id", "version"].contains(&member.name.as_str()));
        members
    }

    fn named(&mut self, of: Type) -> Shape {
        let is_same = |found: &Type| {
            found.members == of.members && found.is_open == of.is_open && !is_component(&found.name)
        };
        let index = match self.found.iter().position(is_same) {
            Some(index) if !is_component(&of.name) => index,
            Some(_) | None => {
                self.found.push(of);
                self.found.len() - 1
            }
        };
        Shape::Type(TypeId(index))
    }
}

/// Whether an object can have members besides those that it names.
fn is_open(schema: &Json) -> bool {
    schema["additionalProperties"] != Json::Bool(false)
}

/// Whether a name is one of a component: `task.create`. Two entities with equal fields are two types.
fn is_component(name: &str) -> bool {
    !name.contains(' ')
}

/// The component that a schema refers to.
pub(super) fn reference(schema: &Json) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// The strings of an array.
pub(super) fn strings(array: &Json) -> impl Iterator<Item = &str> {
    array.as_array().into_iter().flatten().filter_map(Json::as_str)
}

/// Whether a schema is the part of an entity that a request chooses.
fn is_part(schema: &Json) -> bool {
    reference(schema).is_some_and(|name| name.ends_with(".part"))
}

fn has_members(schema: &Json) -> bool {
    schema["properties"].is_object()
}

/// What a component is sent for: `create` of `task.create.named`.
fn request_form(context: &str) -> Option<&str> {
    let part = context.split('.').nth(1);
    part.filter(|part| ["create", "replace", "patch"].contains(part))
}

/// The name of an object: that of a component, or one after what it means or where it is, with a space.
fn name_of(properties: &Map<String, Json>, context: &str) -> String {
    let keys: Vec<&str> = properties.keys().map(String::as_str).collect();
    if let [name] = keys[..]
        && let Some(operator) = name.strip_prefix('$')
    {
        return format!("to {operator}");
    }
    let verb = VERBS.into_iter().find(|verb| keys.contains(verb));
    match verb.filter(|_| context.starts_with(IN_BODY)) {
        Some(verb) => match properties[verb]["const"].as_str() {
            Some(entity) => format!("{verb} {entity}"),
            None => format!("batch {verb}"),
        },
        None if is_component(context) => context.to_owned(),
        None => context.trim_start_matches(IN_BODY).replace('.', " "),
    }
}

fn of_values(values: &[Json]) -> Shape {
    let words: Vec<String> = values.iter().filter_map(Json::as_str).map(str::to_owned).collect();
    let null = values.iter().any(Json::is_null).then_some(Shape::Null);
    match words.is_empty() {
        true => Shape::Whole,
        false => either([Shape::Words(words)].into_iter().chain(null).collect()),
    }
}

/// One of some shapes, each once.
fn either(shapes: Vec<Shape>) -> Shape {
    let mut each: Vec<Shape> = vec![];
    for shape in shapes {
        let parts = match shape {
            Shape::Either(parts) => parts,
            one => vec![one],
        };
        for part in parts.into_iter().filter(|part| !each.contains(part)).collect::<Vec<_>>() {
            each.push(part);
        }
    }
    match (each.contains(&Shape::Anything), &each[..]) {
        (true, _) => Shape::Anything,
        (false, [one]) => one.clone(),
        (false, _) => Shape::Either(each),
    }
}
