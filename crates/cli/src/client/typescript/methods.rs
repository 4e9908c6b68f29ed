//! Operations as methods of TypeScript.

use super::super::api::{Answer, Location, Method, Parameter};
use super::super::comment::Comment;
use super::super::names::{Names, camel, pascal};
use super::shapes::Shapes;
use super::{key, quoted};

/// The methods of one class, as they are written.
pub(super) struct Methods<'w> {
    shapes: &'w Shapes<'w>,
    /// The names of types of the module.
    types: &'w mut Names,
    /// The entity; empty for the client itself.
    group: &'w str,
    taken: Taken,
}

/// What the methods of a class have taken and need.
pub(super) struct Taken {
    pub(super) names: Names,
    /// The types of parameters.
    pub(super) parameters: String,
}

impl<'w> Methods<'w> {
    pub(super) fn new(shapes: &'w Shapes<'w>, types: &'w mut Names, group: &'w str) -> Methods<'w> {
        let taken = Taken { names: Names::without(["constructor"]), parameters: String::new() };
        Methods { shapes, types, group, taken }
    }

    /// The same, without methods of these names, which the class has besides.
    pub(super) fn without(mut self, names: &[&str]) -> Methods<'w> {
        for name in names {
            self.taken.names.claim((*name).to_owned());
        }
        self
    }

    pub(super) fn into_taken(self) -> Taken {
        self.taken
    }

    /// Writes a method. Its parameters come in the order id, others, document, options.
    pub(super) fn write(&mut self, method: &Method) -> String {
        let name = self.taken.names.claim(camel(&method.name));
        let mut signature = vec![];
        signature.extend(method.has_id.then(|| "id: string".to_owned()));
        if !method.parameters.is_empty() {
            let params = self.parameters(method);
            // A parameter with a default cannot come before the document.
            let is_needed = method.needs_parameters() || !method.is_query();
            let default = if is_needed { "" } else { " = {}" };
            signature.push(format!("params: {params}{default}"));
        }
        let body = method.body.as_ref().map(|body| self.shapes.write(&body.shape));
        signature.extend(body.map(|shape| format!("body: {shape}")));
        signature.push(format!("options: {} = {{}}", options(method)));
        let about: Vec<&str> = method.about.iter().map(String::as_str).collect();
        let about = Comment(&about).typescript("  ");
        let (returned, result) = self.result(method, &name);
        let call = call(method);
        let head = head(&name, &signature, &returned);
        format!("{about}{head} {{\n    const call: Call = {call};\n    return {result};\n  }}\n")
    }

    /// The type of what a method returns, and the expression that makes it.
    fn result(&self, method: &Method, name: &str) -> (String, String) {
        let query = match self.group {
            "" => quoted(name),
            group => quoted(&format!("{}.{name}", camel(group))),
        };
        let made = |class: String, more: &[&String]| {
            let more: String = more.iter().map(|name| format!(", {}", quoted(name))).collect();
            let made = class.split('<').next().unwrap_or_default();
            let made = format!("new {made}(this.#transport, call, options{more})");
            (class, made)
        };
        let shape = |shape| self.shapes.write(shape);
        match &method.answer {
            Answer::Pages { item, cursor, fields: Some(fields) } => {
                made(format!("EntityPagesQuery<{query}, {}>", shape(item)), &[cursor, fields])
            }
            Answer::Pages { item, cursor, fields: None } => {
                made(format!("PagesQuery<{query}, {}>", shape(item)), &[cursor])
            }
            Answer::Entity { shape: of, fields } if method.is_query() => {
                made(format!("EntityQuery<{}>", shape(of)), &[fields])
            }
            Answer::Value(of) if method.is_query() => made(format!("Query<{}>", shape(of)), &[]),
            Answer::Value(of) | Answer::Entity { shape: of, .. } => sent(&shape(of)),
            Answer::Nothing => sent("void"),
        }
    }

    /// Declares the type of the parameters of a method, and returns its name.
    fn parameters(&mut self, method: &Method) -> String {
        let name = self.types.claim(pascal(&format!("{} {} params", self.group, method.name)));
        let mut text = format!("export interface {name} {{\n");
        for parameter in &method.parameters {
            let optional = if parameter.is_required { "" } else { "?" };
            let shape = self.shapes.of_parameter(parameter);
            text.push_str(&Comment(&[&parameter.about]).typescript("  "));
            text.push_str(&format!("  {}{optional}: {shape};\n", key(&parameter.name)));
        }
        self.taken.parameters.push_str(&format!("{text}}}\n\n"));
        name
    }
}

/// The beginning of a method, on several lines if it is long.
fn head(name: &str, signature: &[String], returned: &str) -> String {
    let line = format!("  {name}({}): {returned}", signature.join(", "));
    match line.len() > 96 {
        true => format!("  {name}(\n    {},\n  ): {returned}", signature.join(",\n    ")),
        false => line,
    }
}

fn sent(shape: &str) -> (String, String) {
    (format!("Promise<{shape}>"), format!("this.#transport.send<{shape}>(call, options)"))
}

/// The type of the options of a method.
fn options(method: &Method) -> &'static str {
    match (method.takes_if_none_match, method.takes_if_match, method.is_keyed) {
        (true, _, _) => "PutOptions",
        (false, true, _) => "MatchOptions",
        (false, false, true) => "ChangeOptions",
        (false, false, false) => "RequestOptions",
    }
}

/// The request of a method.
fn call(method: &Method) -> String {
    let mut text =
        format!("{{\n      method: {},\n      path: {},\n", quoted(&method.http), path(method));
    let query: Vec<String> = method.in_query().map(given).collect();
    if !query.is_empty() {
        text.push_str(&format!("      query: [\n{}      ],\n", query.concat()));
    }
    if let Some(body) = &method.body {
        text.push_str(&format!("      body,\n      mediaType: {},\n", quoted(body.media_type)));
    }
    if method.is_keyed {
        text.push_str("      isKeyed: true,\n");
    }
    text + "    }"
}

fn given(parameter: &Parameter) -> String {
    let (name, wire) = (quoted(&parameter.wire_name), quoted(parameter.wire.name()));
    format!("        [{name}, {wire}, {}],\n", value(parameter))
}

fn value(parameter: &Parameter) -> String {
    format!("params.{}", parameter.name)
}

/// The path, as a template if it has parameters.
fn path(method: &Method) -> String {
    if !method.path.contains('{') {
        return quoted(&method.path);
    }
    let mut text = method.path.replace("{id}", "${segment(id)}");
    let in_path = method.parameters.iter().filter(|one| one.location == Location::Path);
    for parameter in in_path {
        let place = format!("{{{}}}", parameter.wire_name);
        text = text.replace(&place, &format!("${{segment({})}}", value(parameter)));
    }
    format!("`{text}`")
}
