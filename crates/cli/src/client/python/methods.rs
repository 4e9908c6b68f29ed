//! Operations as methods of Python.

use super::super::api::{Answer, Location, Method, Parameter};
use super::super::comment::Comment;
use super::super::names::{Names, snake};
use super::shapes::Shapes;
use super::{KEYWORDS, quoted};

/// Names of parameters that are not fields. Local variables begin with an underscore, as no field does.
const OWN: [&str; 6] = ["self", "id", "body", "idempotency_key", "if_match", "if_none_match"];

/// Methods of every client.
const CLIENT_METHODS: [&str; 3] = ["close", "changes", "send"];

/// The methods of one class.
pub(super) struct Methods<'w> {
    shapes: &'w Shapes<'w>,
    /// The entity; empty for the client itself.
    group: &'w str,
}

/// What a method returns: its type, and the body around the expression of the request.
struct Returned {
    shape: String,
    before: String,
    after: String,
}

/// A parameter of an operation with its name in Python.
struct Argument<'m> {
    parameter: &'m Parameter,
    name: String,
}

impl<'w> Methods<'w> {
    pub(super) fn new(shapes: &'w Shapes<'w>, group: &'w str) -> Methods<'w> {
        Methods { shapes, group }
    }

    /// Writes methods, and returns the names that they have.
    pub(super) fn write(&self, methods: &[Method]) -> (String, Names) {
        let mut names = Names::without(KEYWORDS.into_iter().chain(CLIENT_METHODS));
        let texts = methods.iter().map(|method| {
            let name = names.claim(snake(&method.name));
            self.method(method, &name)
        });
        (texts.collect::<Vec<_>>().join("\n"), names)
    }

    /// Its parameters come in the order id, document, others; the others by their names.
    fn method(&self, method: &Method, name: &str) -> String {
        let mut scope = Names::without(KEYWORDS.into_iter().chain(OWN));
        let arguments: Vec<Argument<'_>> = method
            .parameters
            .iter()
            .map(|parameter| Argument { parameter, name: scope.claim(parameter.name.clone()) })
            .collect();
        let signature = self.signature(method, &arguments);
        let about: Vec<&str> = method.about.iter().map(String::as_str).collect();
        let about = Comment(&about).docstring("        ");
        let Returned { shape, before, after } = self.returned(method, name);
        let call = call(method, &arguments);
        let head = head(name, &signature, &shape);
        format!("{head}:\n{about}        {before}{call}{after}\n")
    }

    fn signature(&self, method: &Method, arguments: &[Argument<'_>]) -> Vec<String> {
        let mut all = vec!["self".to_owned()];
        all.extend(method.has_id.then(|| "id: str".to_owned()));
        let body = method.body.as_ref().map(|body| self.shapes.write(&body.shape));
        all.extend(body.map(|shape| format!("body: {shape}")));
        let mut named: Vec<String> = arguments
            .iter()
            .map(|Argument { parameter, name }| {
                let shape = self.shapes.of_parameter(parameter);
                match parameter.is_required {
                    true => format!("{name}: {shape}"),
                    false => format!("{name}: {shape} | None = None"),
                }
            })
            .collect();
        let option = |name: &str, shape: &str| format!("{name}: {shape} | None = None");
        if method.takes_if_match {
            let entity = match &method.answer {
                Answer::Value(shape) => format!(" | {}", self.shapes.write(shape)),
                _ => String::new(),
            };
            named.push(option("if_match", &format!("str | EntityKeys{entity}")));
        }
        named.extend(method.takes_if_none_match.then(|| option("if_none_match", "Literal[\"*\"]")));
        named.extend(method.is_keyed.then(|| option("idempotency_key", "str")));
        if !named.is_empty() {
            all.push("*".to_owned());
        }
        all.extend(named);
        all
    }

    fn returned(&self, method: &Method, name: &str) -> Returned {
        let query = match self.group {
            "" => quoted(name),
            group => quoted(&format!("{}.{name}", snake(group))),
        };
        let shape = |shape| self.shapes.write(shape);
        let part = |of| {
            let part = self.shapes.part(of);
            part.map(|part| format!(", {}, {}", part.part, part.fields)).unwrap_or_default()
        };
        match &method.answer {
            Answer::Pages { item, cursor, fields: Some(fields) } => {
                let class =
                    format!("EntityPagesQuery[Literal[{query}], {}{}]", shape(item), part(item));
                made(class, &[cursor, fields])
            }
            Answer::Pages { item, cursor, fields: None } => {
                made(format!("PagesQuery[Literal[{query}], {}]", shape(item)), &[cursor])
            }
            Answer::Entity { shape: of, fields } if method.is_query() => {
                made(format!("EntityQuery[{}{}]", shape(of), part(of)), &[fields])
            }
            Answer::Value(of) if method.is_query() => made(format!("Query[{}]", shape(of)), &[]),
            Answer::Value(of) | Answer::Entity { shape: of, .. } => sent(shape(of)),
            Answer::Nothing => Returned {
                shape: "None".to_owned(),
                before: "self._transport.send(".to_owned(),
                after: ")".to_owned(),
            },
        }
    }
}

fn made(shape: String, more: &[&String]) -> Returned {
    let more: String = more.iter().map(|name| format!(", {}", quoted(name))).collect();
    let class = shape.split('[').next().unwrap_or_default();
    let before = format!("return {class}(self._transport, ");
    Returned { before, after: format!("{more})"), shape }
}

fn sent(shape: String) -> Returned {
    let before = format!("_sent: {shape} = self._transport.send(");
    Returned { shape, before, after: ")\n        return _sent".to_owned() }
}

/// The beginning of a method, on several lines if it is long.
fn head(name: &str, signature: &[String], returned: &str) -> String {
    let line = format!("    def {name}({}) -> {returned}", signature.join(", "));
    match line.len() > 96 {
        true => {
            let parameters = signature.join(",\n        ");
            format!("    def {name}(\n        {parameters},\n    ) -> {returned}")
        }
        false => line,
    }
}

/// The request of a method.
fn call(method: &Method, arguments: &[Argument<'_>]) -> String {
    let mut text = format!(
        "_Call(\n            {},\n            {},\n",
        quoted(&method.http),
        path(method, arguments)
    );
    let in_query = arguments.iter().filter(|one| one.parameter.location == Location::Query);
    let query: String = in_query.map(given).collect();
    if !query.is_empty() {
        text.push_str(&format!("            query=[\n{query}            ],\n"));
    }
    if let Some(body) = &method.body {
        let media_type = quoted(body.media_type);
        text.push_str(&format!("            body=body,\n            media_type={media_type},\n"));
    }
    if method.is_keyed {
        text.push_str("            key=idempotency_key or _new_key(),\n");
    }
    if method.takes_if_match {
        text.push_str("            if_match=if_match,\n");
    }
    if method.takes_if_none_match {
        text.push_str("            if_none_match=if_none_match,\n");
    }
    text + "        )"
}

fn given(Argument { parameter, name }: &Argument<'_>) -> String {
    let (wire_name, wire) = (quoted(&parameter.wire_name), quoted(parameter.wire.name()));
    format!("                ({wire_name}, {wire}, {name}),\n")
}

/// The path, as a formatted string if it has parameters.
fn path(method: &Method, arguments: &[Argument<'_>]) -> String {
    if !method.path.contains('{') {
        return quoted(&method.path);
    }
    let mut text = method.path.replace("{id}", "{_segment(id)}");
    for Argument { parameter, name } in arguments {
        if parameter.location == Location::Path {
            let place = format!("{{{}}}", parameter.wire_name);
            text = text.replace(&place, &format!("{{_segment({name})}}"));
        }
    }
    format!("f{}", quoted(&text))
}
