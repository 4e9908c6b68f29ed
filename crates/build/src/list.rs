//! Declared lists: a type for each, with its ranges and filters.

use keyloom_model::{Direction, FieldId, ListId, Presence};

use crate::names::Names;
use crate::rust_type::Scope;
use crate::source::{Function, Source, chain, literal};
use crate::words::snake;

pub(crate) fn write(source: &mut Source, scope: Scope<'_>, id: ListId) {
    let (entity, name) = (&scope.own_names().entity, scope.own_names().list(id));
    source.separate();
    source.doc(&document_of(scope, id));
    source.line("#[derive(Clone, Copy, Debug, PartialEq, Eq)]");
    source.line(&format!("pub enum {name} {{}}"));
    source.separate();
    source.block(&format!("impl typed::DeclaredList for {name}"), |source| {
        source.line(&format!("type Entity = {entity};"));
    });
    if scope.declared().has_ordinals() {
        source.separate();
        source.line(&format!("impl typed::HasTotal for {name} {{}}"));
    }
    if scope.declared().tag_fields().next().is_some() {
        source.separate();
        source.line(&format!("impl typed::HasTags for {name} {{}}"));
    }
    source.block_if_any(&format!("impl {name}"), |source| {
        ListFunctions { source, scope, names: Names::reserving(&[]) }.write(id);
    });
}

fn document_of(scope: Scope<'_>, id: ListId) -> String {
    let list = scope.declared().list(id);
    let order = list.order.iter().map(|order| {
        let sign = match order.direction {
            Direction::Ascending => "",
            Direction::Descending => "-",
        };
        format!("`{sign}{}`", scope.field(order.field).name)
    });
    let order = order.collect::<Vec<_>>().join(", ");
    let ordered = if order.is_empty() { String::new() } else { format!(", ordered by {order}") };
    format!("The list `{}` of `{}`{ordered}.", list.name, scope.declared().name)
}

/// The functions of a list: the ranges and filters that it can have.
struct ListFunctions<'w, 'm> {
    source: &'w mut Source,
    scope: Scope<'m>,
    names: Names,
}

impl ListFunctions<'_, '_> {
    fn write(&mut self, id: ListId) {
        let (entity, list) = (self.scope.declared(), self.scope.declared().list(id));
        self.write_tags();
        let order: Vec<FieldId> = list.order.iter().map(|order| order.field).collect();
        (0..order.len()).for_each(|index| self.write_order(&order[..index], order[index]));
        list.facets.iter().for_each(|field| self.write_facet(*field));
        for field in entity.filters.iter().copied() {
            if entity.is_range_filter(field) {
                self.write_range(field);
            }
            if self.scope.field(field).presence == Presence::Optional {
                self.write_presence(field);
            }
        }
        for search in &entity.searches {
            let name = format!("{}_matches", snake(&search.name));
            let doc = format!("Entities that the search `{}` finds by a text.", search.name);
            let filter = format!("search({}, text)", literal(&search.name));
            self.write_filter((&name, &doc), &["text: &str"], &filter);
        }
    }

    fn write_tags(&mut self) {
        let fields: Vec<FieldId> = self.scope.declared().tag_fields().collect();
        for id in &fields {
            let (prefix, in_field) = match fields.len() {
                1 => (String::new(), String::new()),
                _ => (
                    format!("{}_", self.scope.field_names(*id).part),
                    format!(".in_field({})", literal(&self.scope.field(*id).name)),
                ),
            };
            let filter = format!("tag(key, value){in_field}");
            let named = (&*format!("{prefix}tag"), "Entities with a tag.");
            self.write_filter(named, &["key: &str", "value: &str"], &filter);
            let filter = format!("has_tag(key){in_field}");
            let doc = "Entities with a tag of this key, whatever its value.";
            self.write_filter((&format!("{prefix}has_tag"), doc), &["key: &str"], &filter);
        }
    }

    /// A filter of the library.
    fn write_filter(&mut self, (name, doc): (&str, &str), parameters: &[&str], filter: &str) {
        let head = format!("pub fn {}", self.names.take(name));
        let parameters = parameters.iter().map(|parameter| (*parameter).to_owned()).collect();
        let body = vec![format!("typed::Filter::new(::keyloom::Filter::{filter})")];
        let output = "typed::Filter<Self>";
        self.source.function(doc, &Function { head: &head, parameters, output, body });
    }

    fn write_order(&mut self, leading: &[FieldId], id: FieldId) {
        let scope = self.scope;
        let names = scope.field_names(id);
        let head = format!("pub fn {}", self.names.take(format!("{}_range", names.part)));
        let mut parameters: Vec<String> = leading
            .iter()
            .map(|id| format!("{}: {}", scope.field_names(*id).variable, scope.queried(*id)))
            .collect();
        let (variable, field) = (&names.variable, &scope.field(id).name);
        parameters.push(format!("{variable}: impl ::std::ops::RangeBounds<{}>", scope.stored(id)));
        let first = format!("typed::OrderRange::new({}, {variable})", literal(field));
        let after = |id: &FieldId| {
            let (field, variable) =
                (literal(&scope.field(*id).name), &scope.field_names(*id).variable);
            format!(".after({field}, {variable})")
        };
        let calls: Vec<String> = leading.iter().map(after).collect();
        let body = chain(&first, &calls, 2);
        let doc = match leading {
            [] => format!("A range of `{field}`."),
            _ => format!("A range of `{field}`, among those with the same values before."),
        };
        let output = "typed::OrderRange<Self>";
        self.source.function(&doc, &Function { head: &head, parameters, output, body });
    }

    fn write_facet(&mut self, id: FieldId) {
        let (scope, names) = (self.scope, self.scope.field_names(id));
        let (variable, field) = (&names.variable, &scope.field(id).name);
        let head = format!("pub fn {}", self.names.take(format!("{}_is", names.part)));
        let parameters = vec![format!("{variable}: {}", scope.queried(id))];
        let body = vec![format!("typed::Filter::facet({}, {variable})", literal(field))];
        let (doc, output) = (format!("Entities with this `{field}`."), "typed::Filter<Self>");
        self.source.function(&doc, &Function { head: &head, parameters, output, body });
        let head = format!("pub fn {}", self.names.take(format!("{}_values", names.part)));
        let output = format!("typed::Facet<Self, {}>", scope.stored(id));
        let body = vec![format!("typed::Facet::new({})", literal(field))];
        let doc = format!("The values of `{field}`, to be counted.");
        let function = Function { head: &head, parameters: vec![], output: &output, body };
        self.source.function(&doc, &function);
    }

    fn write_range(&mut self, id: FieldId) {
        let (scope, names) = (self.scope, self.scope.field_names(id));
        let (variable, field) = (&names.variable, &scope.field(id).name);
        let head = format!("pub fn {}", self.names.take(format!("{}_in", names.part)));
        let of = scope.stored(id);
        let parameters = vec![format!("{variable}: impl ::std::ops::RangeBounds<{of}>")];
        let body = vec![format!("typed::Filter::range({}, {variable})", literal(field))];
        let doc = format!("Entities with a `{field}` within a range.");
        let output = "typed::Filter<Self>";
        self.source.function(&doc, &Function { head: &head, parameters, output, body });
    }

    fn write_presence(&mut self, id: FieldId) {
        let name = format!("{}_present", self.scope.field_names(id).part);
        let field = &self.scope.field(id).name;
        let doc = format!("Entities with any value of `{field}`.");
        self.write_filter((&name, &doc), &[], &format!("present({})", literal(field)));
    }
}
