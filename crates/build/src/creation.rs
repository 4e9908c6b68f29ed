//! What is needed to create an entity: without the fields that Keyloom sets.

use keyloom_model::{FieldId, FieldOrigin, IdSource, Presence, Tenancy};

use crate::describe;
use crate::rust_type::Scope;
use crate::source::{Function, Source, chain, literal};

/// Whether a new entity must have a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// It must.
    Required,
    /// It has a default, or can be absent.
    Optional,
    /// It has a default, and can be absent nevertheless.
    OrDefault,
}

pub(crate) fn write(source: &mut Source, scope: Scope<'_>) {
    let name = &scope.own_names().creation;
    let fields: Vec<(FieldId, Need)> = settable(scope).map(|id| (id, need(scope, id))).collect();
    let is_default = fields.iter().all(|(_, need)| *need != Need::Required);
    source.separate();
    source.doc(&format!("A new `{}`.", scope.declared().name));
    let default = if is_default { ", Default" } else { "" };
    source.line(&format!("#[derive(Clone, Debug{default}, PartialEq, Eq)]"));
    source.block(&format!("pub struct {name}"), |source| {
        for (id, need) in &fields {
            source.doc(&document_of(scope, *id, *need));
            let (variable, of) = (&scope.field_names(*id).variable, scope.written(*id));
            let of = match need {
                Need::Required => of,
                Need::Optional => format!("Option<{of}>"),
                Need::OrDefault => format!("typed::OrDefault<{of}>"),
            };
            source.line(&format!("pub {variable}: {of},"));
        }
    });
    source.separate();
    source.block(&format!("impl {name}"), |source| {
        write_constructor(source, scope, &fields);
        write_document(source, scope, &fields);
    });
}

/// The fields that callers set, with the id if they choose it.
pub(crate) fn settable(scope: Scope<'_>) -> impl Iterator<Item = FieldId> {
    let entity = scope.declared();
    let is_set = move |id: FieldId| {
        entity.updated == Some(id)
            || entity.sequence.as_ref().is_some_and(|sequence| sequence.field == id)
            || entity.tenancy == Tenancy::Own(id)
    };
    entity.fields().map(|(id, _)| id).filter(move |id| match scope.field(*id).origin {
        FieldOrigin::Id => entity.id_source == IdSource::Given,
        FieldOrigin::Parent | FieldOrigin::Declared => !is_set(*id),
    })
}

fn need(scope: Scope<'_>, id: FieldId) -> Need {
    let field = scope.field(id);
    let is_owner = scope.declared().access.owner == Some(id);
    match (field.presence, &field.default) {
        (Presence::Optional, Some(_)) => Need::OrDefault,
        (Presence::Optional, None) | (Presence::Required, Some(_)) => Need::Optional,
        (Presence::Required, None) if is_owner => Need::Optional,
        (Presence::Required, None) => Need::Required,
    }
}

fn document_of(scope: Scope<'_>, id: FieldId, need: Need) -> String {
    if scope.field(id).origin == FieldOrigin::Id {
        return "Its id.".to_owned();
    }
    let values = describe::field(scope, id);
    let has_default = scope.field(id).default.is_some();
    match need {
        Need::Optional if scope.declared().access.owner == Some(id) && !has_default => {
            format!("{values} By default, the user of the database.")
        }
        Need::Optional if has_default => format!("{values} By default, that of the model."),
        Need::Required | Need::Optional | Need::OrDefault => values,
    }
}

fn write_constructor(source: &mut Source, scope: Scope<'_>, fields: &[(FieldId, Need)]) {
    let mut parameters = vec![];
    let mut lines = vec![];
    for (id, need) in fields {
        let (variable, given) = (&scope.field_names(*id).variable, scope.given(*id));
        lines.push(match need {
            Need::Required if given.conversion.is_empty() => format!("    {variable},"),
            Need::Required => format!("    {variable}: {variable}{},", given.conversion),
            Need::Optional => format!("    {variable}: None,"),
            Need::OrDefault => format!("    {variable}: typed::OrDefault::Default,"),
        });
        if *need == Need::Required {
            parameters.push(format!("{variable}: {}", given.of));
        }
    }
    let body = match lines.is_empty() {
        true => vec!["Self {}".to_owned()],
        false => [vec!["Self {".to_owned()], lines, vec!["}".to_owned()]].concat(),
    };
    let doc = "One with these fields; all others have their defaults.";
    source.function(doc, &Function { head: "pub fn new", parameters, output: "Self", body });
}

fn write_document(source: &mut Source, scope: Scope<'_>, fields: &[(FieldId, Need)]) {
    let call = |(id, need): &(FieldId, Need)| {
        let (name, variable) = (literal(&scope.field(*id).name), &scope.field_names(*id).variable);
        let method = match need {
            Need::Required => "with",
            Need::Optional => "with_some",
            Need::OrDefault => "with_or_default",
        };
        format!(".{method}({name}, self.{variable})")
    };
    let calls: Vec<String> = fields.iter().map(call).collect();
    let body = chain("typed::Document::new()", &calls, 2);
    let (head, parameters) = ("fn into_document", vec!["self".to_owned()]);
    source.function("", &Function { head, parameters, output: "typed::Document", body });
}
