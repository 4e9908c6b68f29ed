//! All entities of a kind: changes, lookups, and every declared query.

use keyloom_model::{BoardId, CountId, FieldId, ListId, Unique};

use crate::describe;
use crate::entity::changes;
use crate::module::is_changed_by_callers;
use crate::names::Names;
use crate::rust_type::Scope;
use crate::source::{Function, Source, chain, literal};
use crate::words::{camel, snake};

pub(crate) fn write(source: &mut Source, scope: Scope<'_>) {
    let (declared, names) = (scope.declared(), scope.own_names());
    let collection = &names.collection;
    source.separate();
    source.doc(&format!("The entities `{}` of a database.", declared.name));
    source.line("#[derive(Clone, Copy, Debug)]");
    source.block(&format!("pub struct {collection}<'d>"), |source| {
        source.line("db: &'d ::keyloom::Db,");
    });
    source.separate();
    source.block(&format!("impl {collection}<'_>"), |source| {
        write_get(source, scope);
        if is_changed_by_callers(scope) {
            write_changes(source, scope);
        }
        let mut methods = Names::reserving(&["get", "create", "patch", "replace", "delete"]);
        let mut collection = Collection { source, scope, methods: &mut methods };
        declared.uniques().for_each(|(_, unique)| collection.write_find(unique));
        declared.lists().for_each(|(id, _)| collection.write_list(id));
        declared.counts().for_each(|(id, _)| collection.write_count(id));
        declared.boards().for_each(|(id, _)| collection.write_board(id));
        collection.write_children();
    });
}

fn write_get(source: &mut Source, scope: Scope<'_>) {
    let names = scope.own_names();
    let parameters = vec!["&self".to_owned(), format!("id: &{}", names.id)];
    let output = format!("Result<Option<{}>, typed::Error>", names.entity);
    let body = vec!["typed::get(self.db, id).await".to_owned()];
    let head = "pub async fn get";
    let function = Function { head, parameters, output: &output, body };
    write_fallible(source, "Returns the one with this id, if it exists.", &function);
}

/// A function that reads.
fn write_fallible(source: &mut Source, doc: &str, function: &Function<'_>) {
    source.separate();
    source.doc(doc);
    source.line("///");
    source.line("/// # Errors");
    source.line("///");
    source.doc("If the database fails, or a stored value does not fit.");
    // The documentation is written already, and no blank line follows it.
    source.undocumented(function);
}

fn write_changes(source: &mut Source, scope: Scope<'_>) {
    let entity = &scope.own_names().entity;
    for method in changes(scope) {
        let (head, doc) = (format!("pub fn {}", method.name), format!("{} Await it.", method.doc));
        let mut parameters = vec!["&self".to_owned()];
        parameters.extend(method.parameters);
        let output = format!("typed::Request<typed::Change<{entity}, {}>>", method.kind);
        let (name, arguments) = (method.name, method.arguments);
        let body = vec![format!("typed::Request::new(self.db, {entity}::{name}({arguments}))")];
        source.function(&doc, &Function { head: &head, parameters, output: &output, body });
    }
}

/// A declared query of one partition.
struct Query<'q> {
    /// The method of the database that begins it: `list`, `count` or `board`.
    verb: &'static str,
    name: &'q str,
    by: &'q [FieldId],
    /// The type of the query.
    marker: &'q str,
    /// What the database calls it.
    arguments: String,
}

struct Collection<'w, 'm> {
    source: &'w mut Source,
    scope: Scope<'m>,
    methods: &'w mut Names,
}

impl Collection<'_, '_> {
    fn write_find(&mut self, unique: &Unique) {
        let scope = self.scope;
        let fields: Vec<FieldId> = unique.within.iter().chain(&unique.fields).copied().collect();
        let parts: Vec<&str> =
            fields.iter().map(|id| scope.field_names(*id).part.as_str()).collect();
        let name = self.methods.take(format!("find_by_{}", parts.join("_and_")));
        let value = |id: &FieldId| {
            let (field, variable) =
                (literal(&scope.field(*id).name), &scope.field_names(*id).variable);
            format!("({field}, {variable}.into())")
        };
        let values: Vec<String> = fields.iter().map(value).collect();
        let body = vec![
            format!("let values = [{}];", values.join(", ")),
            "typed::find(self.db, &values).await".to_owned(),
        ];
        let doc = format!("Returns the one with this {}.", describe::names(scope, &fields));
        let output = format!("Result<Option<{}>, typed::Error>", scope.own_names().entity);
        let (head, parameters) = (format!("pub async fn {name}"), self.parameters(&fields));
        let function = Function { head: &head, parameters, output: &output, body };
        write_fallible(self.source, &doc, &function);
    }

    fn write_list(&mut self, id: ListId) {
        let list = self.scope.declared().list(id);
        let marker = self.scope.own_names().list(id);
        let arguments = self.of_entity(&list.name);
        self.write_query(&Query {
            verb: "list",
            name: &list.name,
            by: &list.by,
            marker,
            arguments,
        });
    }

    fn write_count(&mut self, id: CountId) {
        let count = self.scope.declared().count(id);
        let marker = &self.scope.own_names().count(id).count;
        let arguments = self.of_entity(&count.name);
        self.write_query(&Query {
            verb: "count",
            name: &count.name,
            by: &count.by,
            marker,
            arguments,
        });
    }

    fn write_board(&mut self, id: BoardId) {
        let board = self.scope.declared().board(id);
        let marker = self.scope.own_names().board(id);
        let arguments = literal(&board.name);
        self.write_query(&Query {
            verb: "board",
            name: &board.name,
            by: &board.by,
            marker,
            arguments,
        });
    }

    fn of_entity(&self, name: &str) -> String {
        format!("{}, {}", literal(&self.scope.declared().name), literal(name))
    }

    fn write_query(&mut self, query: &Query<'_>) {
        let Query { verb, name, by, marker, arguments } = query;
        let (scope, of) = (self.scope, format!("typed::{}", camel(verb)));
        let call = |id: &FieldId| {
            let (field, variable) =
                (literal(&scope.field(*id).name), &scope.field_names(*id).variable);
            format!(".by({field}, {variable})")
        };
        let calls: Vec<String> = by.iter().map(call).collect();
        let body = match &chain(&format!("self.db.{verb}({arguments})"), &calls, 6)[..] {
            [query] => vec![format!("{of}::new({query})")],
            lines => {
                let inside = lines.iter().map(|line| format!("    {line}"));
                let first = std::iter::once(format!("{of}::new("));
                first.chain(inside).chain([")".to_owned()]).collect()
            }
        };
        let one_of = match by.is_empty() {
            true => String::new(),
            false => format!(" of one {}", describe::names(scope, by)),
        };
        let doc = format!("The {verb} `{name}`{one_of}.");
        let head = format!("pub fn {}", self.methods.take(format!("{verb}_{}", snake(name))));
        let (output, parameters) = (format!("{of}<{marker}>"), self.parameters(by));
        self.source.function(&doc, &Function { head: &head, parameters, output: &output, body });
    }

    fn write_children(&mut self) {
        let parent = &self.scope.own_names().entity;
        for (name, kind) in self.scope.model.children(self.scope.id) {
            let child = &self.scope.names.entity(kind).entity;
            let method = self.methods.take(format!("children_{}", snake(&name)));
            let doc = format!(
                "The children `{}` of one, ordered by id.",
                self.scope.model.entity(kind).name
            );
            let parameters =
                vec!["&self".to_owned(), format!("id: &{}", self.scope.own_names().id)];
            let (head, output) =
                (format!("pub fn {method}"), format!("typed::Children<{parent}, {child}>"));
            let body = vec!["typed::Children::new(self.db, id)".to_owned()];
            self.source
                .function(&doc, &Function { head: &head, parameters, output: &output, body });
        }
    }

    fn parameters(&self, fields: &[FieldId]) -> Vec<String> {
        let parameter = |id: &FieldId| {
            format!("{}: {}", self.scope.field_names(*id).variable, self.scope.queried(*id))
        };
        std::iter::once("&self".to_owned()).chain(fields.iter().map(parameter)).collect()
    }
}
