//! The type of an entity as it is stored, and its changes.

use keyloom_model::{FieldId, FieldOrigin, IdSource, Presence};

use crate::describe;
use crate::module::is_changed_by_callers;
use crate::rust_type::Scope;
use crate::source::{Function, Source, literal};

pub(crate) fn write(source: &mut Source, scope: Scope<'_>) {
    let (declared, names) = (scope.declared(), scope.own_names());
    let entity = &names.entity;
    source.separate();
    source.doc(&format!("The id of a `{}`.", declared.name));
    source.line(&format!("pub type {} = typed::Id<{entity}>;", names.id));
    source.separate();
    source.doc(&format!("A `{}`.", declared.name));
    source.line("#[derive(Clone, Debug, PartialEq, Eq)]");
    source.block(&format!("pub struct {entity}"), |source| {
        source.doc("Its id.");
        source.line(&format!("pub id: {},", names.id));
        source.doc("Its version, which changes on every write.");
        source.line("pub version: typed::Version,");
        for id in fields(scope) {
            source.doc(&describe::field(scope, id));
            let of = match scope.field(id).presence {
                Presence::Required => scope.stored(id),
                Presence::Optional => format!("Option<{}>", scope.stored(id)),
            };
            source.line(&format!("pub {}: {of},", scope.field_names(id).variable));
        }
    });
    write_reading(source, scope);
    if is_changed_by_callers(scope) {
        source.separate();
        source.block(&format!("impl {entity}"), |source| write_changes(source, scope));
    }
}

/// The fields besides `id`.
pub(crate) fn fields(scope: Scope<'_>) -> impl Iterator<Item = FieldId> {
    let fields = scope.declared().fields();
    fields.filter(|(_, field)| field.origin != FieldOrigin::Id).map(|(id, _)| id)
}

fn write_reading(source: &mut Source, scope: Scope<'_>) {
    let entity = &scope.own_names().entity;
    source.separate();
    source.block(&format!("impl typed::Entity for {entity}"), |source| {
        source.line(&format!("const NAME: &'static str = {};", literal(&scope.declared().name)));
        let read = |id: FieldId| {
            let how = match scope.field(id).presence {
                Presence::Required => "required",
                Presence::Optional => "optional",
            };
            let (variable, name) =
                (&scope.field_names(id).variable, literal(&scope.field(id).name));
            format!("    {variable}: fields.{how}({name})?,")
        };
        let mut body = vec![
            "let fields = typed::StoredFields::of(record);".to_owned(),
            format!("Ok({entity} {{"),
            "    id: fields.id(),".to_owned(),
            "    version: fields.version(),".to_owned(),
        ];
        body.extend(fields(scope).map(read));
        body.push("})".to_owned());
        let parameters = vec!["record: &::keyloom::Record".to_owned()];
        let output = "Result<Self, typed::Unfit>";
        source.function("", &Function { head: "fn from_record", parameters, output, body });
    });
}

/// A kind of change: its name, its documentation, its parameters, and what makes it of them.
pub(crate) struct ChangeMethod {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) parameters: Vec<String>,
    /// The names of the parameters.
    pub(crate) arguments: &'static str,
    /// The kind, as a type.
    pub(crate) kind: &'static str,
    make: String,
}

/// The kinds of changes of an entity.
pub(crate) fn changes(scope: Scope<'_>) -> Vec<ChangeMethod> {
    let names = scope.own_names();
    let id = format!("id: &{}", names.id);
    let creation = format!("document: {}", names.creation);
    let (replace_with, replace_arguments, replaced) = match scope.declared().id_source {
        IdSource::Generated => (vec![id.clone(), creation.clone()], "id, document", "id"),
        IdSource::Given => (vec![creation.clone()], "document", "&document.id.clone()"),
    };
    vec![
        ChangeMethod {
            name: "create",
            doc: "Creates one.",
            parameters: vec![creation],
            arguments: "document",
            kind: "typed::Creation",
            make: "typed::Change::create(document.into_document())".to_owned(),
        },
        ChangeMethod {
            name: "patch",
            doc: "Changes some fields.",
            parameters: vec![id.clone(), format!("patch: {}", names.patch)],
            arguments: "id, patch",
            kind: "typed::Edit",
            make: "typed::Change::patch(id, patch.0)".to_owned(),
        },
        ChangeMethod {
            name: "replace",
            doc: match scope.declared().id_source {
                IdSource::Generated => "Replaces all fields.",
                IdSource::Given => "Replaces all fields, or creates one if there is none.",
            },
            parameters: replace_with,
            arguments: replace_arguments,
            kind: "typed::Edit",
            make: format!("typed::Change::replace({replaced}, document.into_document())"),
        },
        ChangeMethod {
            name: "delete",
            doc: "Deletes one, and applies the deletion rules of references and children.",
            parameters: vec![id],
            arguments: "id",
            kind: "typed::Deletion",
            make: "typed::Change::delete(id)".to_owned(),
        },
    ]
}

/// The changes of the entity, for transactions.
fn write_changes(source: &mut Source, scope: Scope<'_>) {
    for ChangeMethod { name, doc, parameters, kind, make, .. } in changes(scope) {
        let output = format!("typed::Change<Self, {kind}>");
        let (head, body) = (format!("pub fn {name}"), vec![make]);
        source.function(doc, &Function { head: &head, parameters, output: &output, body });
    }
}
