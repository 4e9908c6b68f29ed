//! A client in Python: one module that needs the standard library and nothing else.

mod methods;
mod shapes;
mod typed_dict;

use super::api::{Answer, Api, Followed, Shape, TypeId};
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
    let reserved = identifiers(RUNTIME).chain(KEYWORDS).chain(["Client", "Change"]);
    let mut names = Names::without(reserved);
    let mut shapes = Shapes::new(api, &mut names);
    let mut text = String::new();
    for (index, of) in api.types.iter().enumerate() {
        text.push_str(&TypedDict::of(&shapes, of, index).write(&mut names));
    }
    for TypeId(index) in entities(api) {
        text.push_str(&part(&mut shapes, &mut names, api, index));
    }
    let (feed, changes) = changes(&shapes, &mut names, &api.followed);
    text.push_str(&feed);
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
         {METHODS}{changes}{own}"
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

const METHODS: &str = "    \
    def close(self) -> None:
        \"\"\"Closes the connection of this thread.\"\"\"
        self._transport.close()

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
    ) -> Any:
        \"\"\"Sends a request that no other method covers, such as one of the application itself, and
        returns the JSON of the response.

        `path` is sent as it is: escape what you put into it. A list in `query` is sent as one parameter
        for each value. A request with an `idempotency_key` is sent again if it may not have arrived, so
        the server must know the key.
        \"\"\"
        given: list[_Given] = [(name, \"each\", value) for name, value in (query or {}).items()]
        return self._transport.send(_Call(method, path, given, body=body, key=idempotency_key))

";

/// The types of the changes that can be followed, and the method that follows them.
fn changes(shapes: &Shapes<'_>, names: &mut Names, followed: &[Followed]) -> (String, String) {
    let (mut text, mut classes) = (String::new(), vec![]);
    for Followed { name, shape } in followed {
        let class = names.claim(pascal(&format!("{name} change")));
        let (name, shape) = (quoted(name), shapes.write(shape));
        text.push_str(&format!(
            "class {class}(ChangeKeys):\n    entity: Literal[{name}]\n\
             \x20   # The entity before; None if it was created.\n    old: {shape} | None\n\
             \x20   # The entity after; None if it was deleted.\n    new: {shape} | None\n\n\n"
        ));
        classes.push(class);
    }
    let (classes, entities) = (classes.join(", "), literal(followed));
    text.push_str(&format!("# A change of an entity.\nChange = Union[{classes}]\n\n\n"));
    let method = format!(
        "    def changes(\n        self,\n        *,\n\
         \x20       entity: {entities} | Sequence[{entities}] | None = None,\n\
         \x20       after: str | None = None,\n    ) -> Iterator[Change]:\n{ABOUT_CHANGES}\
         \x20       return _changes(self._transport, entity, after)\n\n"
    );
    (text, method)
}

const ABOUT_CHANGES: &str = "        \
        \"\"\"Follows changes of entities: those that happen from now on, or those after a position.

        Goes on where it was after an interruption. Ends with an `ApiError` of the code `changes-gone` if
        changes were missed because they are not kept any more.
        \"\"\"
";

/// The names of the entities whose changes can be followed.
fn literal(followed: &[Followed]) -> String {
    let names: Vec<String> = followed.iter().map(|followed| quoted(&followed.name)).collect();
    format!("Literal[{}]", names.join(", "))
}

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
