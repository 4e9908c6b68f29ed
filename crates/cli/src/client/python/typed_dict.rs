//! Objects as `TypedDict`s.
//!
//! As a class where its members allow. A member such as `from` is no name of Python, and one such as `str`
//! would hide the type of the next member: then it is made by a call.

use super::super::api::{Member, Type};
use super::super::comment::Comment;
use super::super::names::Names;
use super::shapes::Shapes;
use super::{KEYWORDS, quoted};

/// Types that members are declared with.
const TYPES: [&str; 7] = ["str", "int", "float", "bool", "list", "dict", "datetime"];

/// A `TypedDict`, as it is written.
pub(super) struct TypedDict {
    name: String,
    /// The class that has the members that every object has, instead of `required`.
    base: Option<&'static str>,
    required: Vec<Line>,
    optional: Vec<Line>,
    is_open: bool,
}

/// A member.
struct Line {
    name: String,
    shape: String,
    about: String,
}

impl TypedDict {
    pub(super) fn of(shapes: &Shapes<'_>, of: &Type, index: usize) -> TypedDict {
        let lines = |is_required: bool| {
            let members = of.members.iter().filter(|member| member.is_required == is_required);
            members.map(|member| Line::new(shapes, member)).collect()
        };
        let (name, is_open) = (shapes.name(index), of.is_open);
        TypedDict { name, base: None, required: lines(true), optional: lines(false), is_open }
    }

    /// A part of an entity, of which `id` and `version` are always there. Of related entities there may be parts,
    /// too, in `with`.
    pub(super) fn part_of(shapes: &Shapes<'_>, of: &Type, name: &str) -> TypedDict {
        let is_key = |member: &&Member| ["id", "version"].contains(&member.name.as_str());
        let others = of.members.iter().filter(|member| !is_key(member));
        let optional = others.map(|member| match member.name.as_str() {
            "with" => Line { shape: "dict[str, Any]".to_owned(), ..Line::new(shapes, member) },
            _ => Line::new(shapes, member),
        });
        let optional = optional.collect();
        let (name, base) = (name.to_owned(), Some("EntityKeys"));
        TypedDict { name, base, required: vec![], optional, is_open: false }
    }

    pub(super) fn write(&self, names: &mut Names) -> String {
        let TypedDict { name, base, required, optional, is_open } = self;
        if *is_open {
            // Written as a dictionary wherever it is used.
            return String::new();
        }
        let is_plain = required.iter().chain(optional).all(Line::is_plain);
        let base = match (base, required.is_empty(), is_plain) {
            (Some(base), _, _) => Some((*base).to_owned()),
            (None, true, _) => None,
            (None, false, true) if optional.is_empty() => {
                return class(name, "TypedDict", required);
            }
            (None, false, _) => Some(names.claim(format!("_{name}Required"))),
        };
        let mut text = match (&base, required.is_empty(), is_plain) {
            (Some(base), false, true) => class(base, "TypedDict", required),
            (Some(base), false, false) => call(base, "", required),
            (Some(_) | None, _, _) => String::new(),
        };
        match is_plain {
            true => {
                let base = base.unwrap_or_else(|| "TypedDict".to_owned());
                text.push_str(&class(name, &format!("{base}, total=False"), optional));
            }
            false => {
                let others = names.claim(format!("_{name}Optional"));
                text.push_str(&call(&others, ", total=False", optional));
                let bases: Vec<String> = base.into_iter().chain([others]).collect();
                text.push_str(&class(name, &bases.join(", "), &[]));
            }
        }
        text
    }
}

impl Line {
    fn new(shapes: &Shapes<'_>, member: &Member) -> Line {
        let Member { name, shape, about, .. } = member;
        Line { name: name.clone(), shape: shapes.write(shape), about: about.clone() }
    }

    fn is_plain(&self) -> bool {
        let name = self.name.as_str();
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name && !KEYWORDS.contains(&name) && !TYPES.contains(&name)
    }
}

fn class(name: &str, bases: &str, lines: &[Line]) -> String {
    let mut text = format!("class {name}({bases}):\n");
    for line in lines {
        text.push_str(&Comment(&[&line.about]).python("    "));
        text.push_str(&format!("    {}: {}\n", line.name, line.shape));
    }
    if lines.is_empty() {
        text.push_str("    pass\n");
    }
    text + "\n\n"
}

fn call(name: &str, total: &str, lines: &[Line]) -> String {
    let mut text = format!("{name} = TypedDict(\n    {},\n    {{\n", quoted(name));
    for line in lines {
        text.push_str(&Comment(&[&line.about]).python("        "));
        // In quotes, because the type may be declared later.
        text.push_str(&format!("        {}: {},\n", quoted(&line.name), quoted(&line.shape)));
    }
    text + &format!("    }}{total},\n)\n\n\n")
}
