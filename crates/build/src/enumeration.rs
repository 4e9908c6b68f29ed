//! The enums of fields.

use crate::entity::fields;
use crate::names::{Names, members};
use crate::rust_type::Scope;
use crate::source::{Function, Source, literal};
use crate::words::camel;

/// A member, as the model and as Rust call it.
struct Member<'m> {
    word: &'m str,
    variant: String,
}

pub(crate) fn write_all(source: &mut Source, scope: Scope<'_>) {
    for id in fields(scope) {
        let field = scope.field(id);
        let Some((words, name)) =
            members(&field.of).zip(scope.field_names(id).enumeration.as_ref())
        else {
            continue;
        };
        let mut names = Names::of_variants();
        let member = |word: &'_ String| names.take(variant(word));
        let variants: Vec<String> = words.iter().map(member).collect();
        let members: Vec<Member<'_>> =
            words.iter().zip(variants).map(|(word, variant)| Member { word, variant }).collect();
        source.separate();
        source.doc(&format!("A value of `{}` of a `{}`.", field.name, scope.declared().name));
        write(source, name, &members);
    }
}

/// The name of a variant, which need not be unique.
fn variant(word: &str) -> String {
    let name = camel(word);
    match name.chars().next() {
        None => "Other".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name,
    }
}

fn write(source: &mut Source, name: &str, members: &[Member<'_>]) {
    source.line("#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]");
    source.block(&format!("pub enum {name}"), |source| {
        for Member { word, variant } in members {
            source.doc(&format!("`{word}`."));
            source.line(&format!("{variant},"));
        }
    });
    source.separate();
    source.block(&format!("impl {name}"), |source| {
        source.doc("All values, in the order of the model.");
        let all: Vec<String> =
            members.iter().map(|member| format!("Self::{}", member.variant)).collect();
        let head = format!("pub const ALL: [Self; {}] = [", members.len());
        source.list(&head, &all, "];");
        let mut body = vec!["match self {".to_owned()];
        body.extend(
            members.iter().map(|Member { word, variant }| {
                format!("    Self::{variant} => {},", literal(word))
            }),
        );
        body.push("}".to_owned());
        let (head, parameters) = ("pub fn as_str", vec!["self".to_owned()]);
        let output = "&'static str";
        source.function("Its word in the model.", &Function { head, parameters, output, body });
    });
    write_conversions(source, name);
}

fn write_conversions(source: &mut Source, name: &str) {
    source.separate();
    source.block(&format!("impl From<{name}> for ::keyloom::Value"), |source| {
        let parameters = vec![format!("value: {name}")];
        let body = vec!["value.as_str().into()".to_owned()];
        let output = "::keyloom::Value";
        source.function("", &Function { head: "fn from", parameters, output, body });
    });
    source.separate();
    source.block(&format!("impl typed::IntoValue for {name}"), |source| {
        let (head, parameters) = ("fn into_value", vec!["self".to_owned()]);
        let (output, body) = ("::keyloom::Value", vec!["self.into()".to_owned()]);
        source.function("", &Function { head, parameters, output, body });
    });
    source.separate();
    source.block(&format!("impl typed::FromValue for {name}"), |source| {
        let expected = format!("a value of `{name}`");
        source.line(&format!("const EXPECTED: &'static str = {};", literal(&expected)));
        let (head, parameters) = ("fn from_value", vec!["value: &::keyloom::Value".to_owned()]);
        let body = vec![
            "let word = value.as_s()?;".to_owned(),
            "Self::ALL.into_iter().find(|value| value.as_str() == word)".to_owned(),
        ];
        let output = "Option<Self>";
        source.function("", &Function { head, parameters, output, body });
    });
}
