//! A client in TypeScript: one module that needs `fetch` and nothing else.

mod methods;
mod shapes;

use super::api::{Api, Followed, Type};
use super::comment::Comment;
use super::names::{Names, camel, identifiers, pascal};

use methods::{Methods, Taken};
use shapes::Shapes;

const RUNTIME: &str = include_str!("typescript/runtime.ts");

/// Methods of every client, after those of its API.
const METHODS: &str = "
  /**
   * Follows changes of entities: those that happen from now on, or those after a position.
   *
   * Goes on where it was after an interruption. Ends with an `ApiError` of the code `changes-gone` if
   * changes were missed because they are not kept any more.
   */
  changes<E extends keyof Entities = keyof Entities>(
    params: ChangesParams<E> = {},
    options: RequestOptions = {},
  ): AsyncGenerator<{ [K in E]: Change<K, Entities[K]> }[E], void, undefined> {
    return followedChanges(this.#transport, params, options);
  }

  /**
   * Sends a request that no other method covers, such as one of the application itself, and returns the
   * JSON of the response.
   *
   * `path` is sent as it is: escape what you put into it. A request with an `idempotencyKey` is sent again
   * if it may not have arrived, so the server must know the key.
   */
  send<T = unknown>(method: string, path: string, options: SendOptions = {}): Promise<T> {
    return sendOther(this.#transport, method, path, options);
  }
";
/// Their names.
const METHOD_NAMES: [&str; 2] = ["changes", "send"];

/// Writes the module of an API.
pub(super) fn write(api: &Api) -> String {
    let mut names = Names::without(identifiers(RUNTIME).chain(["Client", "Entities"]));
    let types = api.types.iter().map(|of| names.claim(pascal(&of.name))).collect();
    let shapes = Shapes { types, codes: &api.codes };
    let mut text = String::new();
    for (of, name) in api.types.iter().zip(&shapes.types) {
        text.push_str(&interface(&shapes, of, name));
    }
    text.push_str(&entities(&shapes, &api.followed));
    let mut client = Methods::new(&shapes, &mut names, "").without(&METHOD_NAMES);
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
         {own}{METHODS}}}\n"
    )
}

/// The types of the entities whose changes can be followed.
fn entities(shapes: &Shapes<'_>, followed: &[Followed]) -> String {
    let lines = followed
        .iter()
        .map(|Followed { name, shape }| format!("  {}: {};\n", key(name), shapes.write(shape)));
    let lines: String = lines.collect();
    let about = "The entities whose changes can be followed, by their names.";
    format!("{}export interface Entities {{\n{lines}}}\n\n", Comment(&[about]).typescript(""))
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
