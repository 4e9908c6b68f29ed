//! Changes of some fields: set, cleared, added to, appended to, merged into.

use keyloom_model::{FieldId, FieldOrigin, FieldType, Presence};

use crate::creation::settable;
use crate::names::Names;
use crate::rust_type::Scope;
use crate::source::{Function, Source, literal};

pub(crate) fn write(source: &mut Source, scope: Scope<'_>) {
    let name = &scope.own_names().patch;
    source.separate();
    source.doc(&format!(
        "Changes of some fields of a `{}`. Of several changes of one field, the last one counts.",
        scope.declared().name
    ));
    source.line("#[derive(Clone, Debug, Default, PartialEq)]");
    source.line("#[must_use]");
    source.line(&format!("pub struct {name}(typed::Patch);"));
    source.separate();
    source.block(&format!("impl {name}"), |source| {
        let body = vec!["Self::default()".to_owned()];
        let head = "pub fn new";
        source
            .function("No changes.", &Function { head, parameters: vec![], output: "Self", body });
        let fields = settable(scope).filter(|id| scope.field(*id).origin != FieldOrigin::Id);
        let mut methods = Names::reserving(&["new"]);
        fields.for_each(|id| PatchField { source, scope, id, methods: &mut methods }.write());
    });
}

/// The methods for one field.
struct PatchField<'w, 'm> {
    source: &'w mut Source,
    scope: Scope<'m>,
    id: FieldId,
    methods: &'w mut Names,
}

impl PatchField<'_, '_> {
    fn write(&mut self) {
        let field = self.scope.field(self.id);
        let name = &field.name;
        match (self.scope.members(self.id), &field.of) {
            (Some(member), _) => {
                let doc = format!("Sets members of `{name}`, and removes those that are none.");
                let of = format!("impl IntoIterator<Item = (impl Into<String>, Option<{member}>)>");
                self.write_method("merge", &doc, Some((&of, "")));
            }
            (None, FieldType::Any) => {
                self.write_set(&format!(
                    "Sets `{name}`. A map is merged into the one that it has."
                ));
            }
            (None, _) => self.write_set(&format!("Sets `{name}`.")),
        }
        if field.presence == Presence::Optional {
            self.write_method("clear", &format!("Removes the value of `{name}`."), None);
        }
        self.write_relative();
    }

    /// Changes that depend on the value before.
    fn write_relative(&mut self) {
        let field = self.scope.field(self.id);
        let adds = format!("Adds to `{}`. Of many concurrent additions, none is lost.", field.name);
        match &field.of {
            FieldType::Int(_) => self.write_method("add", &adds, Some(("i64", ""))),
            FieldType::Number(_) => {
                self.write_method("add", &adds, Some(("impl Into<::keyloom::Number>", "")));
            }
            FieldType::List(..) => {
                let doc =
                    format!("Appends to `{}`. Of many concurrent ones, none is lost.", field.name);
                let of = self.scope.written(self.id);
                self.write_method("append", &doc, Some((&of, "")));
            }
            FieldType::Text(_)
            | FieldType::Bool
            | FieldType::Time
            | FieldType::Bytes(_)
            | FieldType::Any
            | FieldType::Tags
            | FieldType::Enum(_)
            | FieldType::Ref(..)
            | FieldType::Map(..) => {}
        }
    }

    fn write_set(&mut self, doc: &str) {
        let given = self.scope.given(self.id);
        let conversion = match given.conversion.is_empty() {
            true => String::new(),
            // The type is named, because a value that converts itself could be one already.
            false => format!("Into::<{}>::into", self.scope.written(self.id)),
        };
        self.write_method("set", doc, Some((&given.of, &conversion)));
    }

    /// A method for a verb, with the type of its parameter and the function that converts it.
    fn write_method(&mut self, verb: &str, doc: &str, parameter: Option<(&str, &str)>) {
        let names = self.scope.field_names(self.id);
        let (variable, field) = (&names.variable, literal(&self.scope.field(self.id).name));
        let head = format!("pub fn {}", self.methods.take(format!("{verb}_{}", names.part)));
        let mut parameters = vec!["self".to_owned()];
        let value = match parameter {
            None => String::new(),
            Some((of, conversion)) => {
                parameters.push(format!("{variable}: {of}"));
                match conversion.is_empty() {
                    true => format!(", {variable}"),
                    false => format!(", {conversion}({variable})"),
                }
            }
        };
        let body = vec![format!("Self(self.0.{verb}({field}{value}))")];
        self.source.function(doc, &Function { head: &head, parameters, output: "Self", body });
    }
}
