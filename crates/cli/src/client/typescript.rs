//! A client in TypeScript: one module that needs `fetch` and nothing else.

mod methods;
mod shapes;

use super::api::{Api, Type};
use super::comment::Comment;
use super::names::{Names, camel, identifiers, pascal};

use methods::{Methods, Taken};
use shapes::Shapes;

const RUNTIME: &str = include_str!("typescript/runtime.ts");

/// Writes the module of an API.
pub(super) fn write(api: &Api) -> String {
    let mut names = Names::without(identifiers(RUNTIME).chain(["Client"]));
    let types = api.types.iter().map(|of| names.claim(pascal(&of.name))).collect();
    let shapes = Shapes { types, codes: &api.codes };
    let mut text = String::new();
    for (of, name) in api.types.iter().zip(&shapes.types) {
        text.push_str(&interface(&shapes, of, name));
    }
    let mut client = Methods::new(&shapes, &mut names, "");
    let own: Vec<String> = api.methods.iter().map(|method| client.write(method)).collect();
    let Taken { names: mut properties, parameters } = client.into_taken();
    text.push_str(&parameters);
    let (mut fields, mut starts) = (String::new(), String::new());
    for group in &api.groups {
        let class = names.claim(pascal(&format!("{} queries", group.name)));
        let property = properties.claim(camel(&group.name));
        let mut methods = Methods::new(&shapes, &mut names, &group.name);
        let all: Vec<String> = group.methods.iter().map(|method| methods.write(method)).collect();
        text.push_str(&methods.into_taken().parameters);
        text.push_str(&class_of(&group.name, &class, &all));
        fields.push_str(&format!("  readonly {property}: {class};\n"));
        starts.push_str(&format!("    this.{property} = new {class}(transport);\n"));
    }
    let codes = api.codes.iter().map(|code| format!("\n  | {}", quoted(code)));
    let codes: String = codes.collect();
    let title = Comment(&[&format!("A client of the model {}.", api.title)]).typescript("");
    let own = own.join("\n");
    format!(
        "{title}\n\
         /** What the codes of problems are. */\nexport type ProblemCode ={codes};\n\n\
         {RUNTIME}\n{text}\
         /** A client of the API. Queries and changes of an entity are methods of its property. */\n\
         export class Client {{\n  readonly #transport: Transport;\n{fields}\n\
         \x20 constructor(options: ClientOptions) {{\n\
         \x20   const transport = new Transport(options);\n    this.#transport = transport;\n{starts}  }}\n\n\
         {own}}}\n"
    )
}

fn interface(shapes: &Shapes<'_>, of: &Type, name: &str) -> String {
    let mut text = format!("export interface {name} {{\n");
    for member in &of.members {
        let optional = if member.is_required { "" } else { "?" };
        let shape = shapes.write(&member.shape);
        text.push_str(&Comment(&[&member.about]).typescript("  "));
        text.push_str(&format!("  {}{optional}: {shape};\n", key(&member.name)));
    }
    if of.is_open {
        text.push_str("  [name: string]: unknown;\n");
    }
    text + "}\n\n"
}

fn class_of(entity: &str, name: &str, methods: &[String]) -> String {
    let about = Comment(&[&format!("Queries and changes of `{entity}`.")]).typescript("");
    let methods = methods.join("\n");
    format!(
        "{about}export class {name} {{\n  readonly #transport: Transport;\n\n\
         \x20 constructor(transport: Transport) {{\n    this.#transport = transport;\n  }}\n\n\
         {methods}}}\n\n"
    )
}

/// A string literal.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The key of a member.
fn key(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_plain { name.to_owned() } else { quoted(name) }
}
