//! A client in Python: one module that needs the standard library and nothing else.

mod methods;
mod shapes;
mod typed_dict;

use super::api::{Answer, Api, Shape, TypeId};
use super::comment::Comment;
use super::names::{Names, identifiers, pascal, snake};

use methods::Methods;
use shapes::Shapes;
use typed_dict::TypedDict;

const RUNTIME: &str = include_str!("python/runtime.py");

/// Words that cannot be names.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// Writes the module of an API.
pub(super) fn write(api: &Api) -> String {
    let reserved = identifiers(RUNTIME).chain(KEYWORDS).chain(["Client"]);
    let mut names = Names::without(reserved);
    let mut shapes = Shapes::new(api, &mut names);
    let mut text = String::new();
    for (index, of) in api.types.iter().enumerate() {
        text.push_str(&TypedDict::of(&shapes, of, index).write(&mut names));
    }
    for TypeId(index) in entities(api) {
        text.push_str(&part(&mut shapes, &mut names, api, index));
    }
    let (own, mut properties) = Methods::new(&shapes, "").write(&api.methods);
    let mut starts = String::new();
    for group in &api.groups {
        let class = names.claim(pascal(&format!("{} queries", group.name)));
        let property = properties.claim(snake(&group.name));
        let (methods, _) = Methods::new(&shapes, &group.name).write(&group.methods);
        text.push_str(&class_of(&group.name, &class, &methods));
        starts.push_str(&format!("        self.{property} = {class}(transport)\n"));
    }
    let codes: String = api.codes.iter().map(|code| format!("    {},\n", quoted(code))).collect();
    let title = Comment(&[&format!("A client of the model {}.", api.title)]).docstring("");
    format!(
        "{title}\n{RUNTIME}\n\n\
         # What the codes of problems are.\nProblemCode = Literal[\n{codes}]\n\n\n{text}\
         class Client:\n    \"\"\"A client of the API. Queries and changes of an entity are methods of its \
         attribute.\n\n    The parameters are those of `ClientOptions`.\n    \"\"\"\n\n{CONSTRUCTOR}{starts}\n\
         {CLOSE}{own}"
    )
}

const CONSTRUCTOR: &str = "    \
    def __init__(
        self,
        base_url: str,
        *,
        token: str | Callable[[], str] | None = None,
        tenant: str | None = None,
        timeout: float = 30.0,
        retries: int = 4,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        options = ClientOptions(base_url, token, tenant, timeout, retries, ssl_context)
        transport = _Transport(options)
        self._transport = transport
";

const CLOSE: &str = "    \
    def close(self) -> None:
        \"\"\"Closes the connection of this thread.\"\"\"
        self._transport.close()

";

/// The entities of which queries can choose fields.
fn entities(api: &Api) -> Vec<TypeId> {
    let mut found = vec![];
    for method in api.groups.iter().flat_map(|group| &group.methods) {
        let shape = match &method.answer {
            Answer::Entity { shape, .. } | Answer::Pages { item: shape, fields: Some(_), .. } => {
                shape
            }
            Answer::Pages { .. } | Answer::Value(_) | Answer::Nothing => continue,
        };
        if let Shape::Type(id) = shape
            && !found.contains(id)
        {
            found.push(*id);
        }
    }
    found
}

/// The types of a part of an entity, and of the names of its fields.
fn part(shapes: &mut Shapes<'_>, names: &mut Names, api: &Api, index: usize) -> String {
    let Some(of) = api.types.get(index) else { return String::new() };
    let part = names.claim(pascal(&format!("{} part", of.name)));
    let fields = names.claim(pascal(&format!("{} field", of.name)));
    let text = TypedDict::part_of(shapes, of, &part).write(names);
    let quoted_names: Vec<String> = of
        .members
        .iter()
        .filter(|member| !["with", "explain"].contains(&member.name.as_str()))
        .map(|member| quoted(&member.name))
        .collect();
    shapes.add_part(TypeId(index), part, fields.clone());
    format!("{text}{fields} = Literal[{}]\n\n\n", quoted_names.join(", "))
}

fn class_of(entity: &str, name: &str, methods: &str) -> String {
    let about = Comment(&[&format!("Queries and changes of `{entity}`.")]).docstring("    ");
    format!(
        "class {name}:\n{about}\n    def __init__(self, transport: _Transport) -> None:\n        \
         self._transport = transport\n\n{methods}\n"
    )
}

/// A string literal.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
