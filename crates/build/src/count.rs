//! Declared counts: a type for each, with the values that it can be split by, and one of its numbers.

use keyloom_model::{Count, CountId, FieldId, FieldType};

use crate::names::Names;
use crate::rust_type::Scope;
use crate::source::{Function, Source, literal};

/// A member of a number of a count: its name, type, documentation, and how it is read.
struct Member {
    name: String,
    of: String,
    doc: String,
    read: String,
}

pub(crate) fn write(source: &mut Source, scope: Scope<'_>, id: CountId) {
    let (count, names) = (scope.declared().count(id), scope.own_names().count(id));
    let entity = &scope.declared().name;
    source.separate();
    source.doc(&format!("The count `{}` of `{entity}`.", count.name));
    source.line("#[derive(Clone, Copy, Debug, PartialEq, Eq)]");
    source.line(&format!("pub enum {} {{}}", names.count));
    let members = members(scope, count);
    source.separate();
    source.doc(&format!("A number of the count `{}` of `{entity}`.", count.name));
    source.line("#[derive(Clone, Debug, PartialEq, Eq)]");
    source.block(&format!("pub struct {}", names.counted), |source| {
        for Member { name, of, doc, .. } in &members {
            source.doc(doc);
            source.line(&format!("pub {name}: {of},"));
        }
    });
    source.separate();
    source.block(&format!("impl typed::DeclaredCount for {}", names.count), |source| {
        source.line(&format!("type Counted = {};", names.counted));
        write_reading(source, entity, (&names.counted, &members));
    });
    if count.window.is_some() {
        source.separate();
        source.line(&format!("impl typed::HasWindows for {} {{}}", names.count));
    }
    source.block_if_any(&format!("impl {}", names.count), |source| {
        let mut functions = Names::reserving(&[]);
        count.split.iter().for_each(|field| write_split(source, scope, (*field, &mut functions)));
    });
}

fn members(scope: Scope<'_>, count: &Count) -> Vec<Member> {
    let mut names = Names::of_variables();
    let mut members = vec![Member {
        name: names.take("count"),
        of: "u64".to_owned(),
        doc: "How many entities there are.".to_owned(),
        read: "counted.count".to_owned(),
    }];
    if count.window.is_some() {
        members.push(Member {
            name: names.take("window"),
            of: "Option<String>".to_owned(),
            doc: "When its window begins, if windows were requested.".to_owned(),
            read: "counted.window.clone()".to_owned(),
        });
    }
    let mut add = |id: FieldId, end: &str, of: String, doc: &str, method: &str| {
        let field = &scope.field(id).name;
        members.push(Member {
            name: names.take(format!("{}{end}", scope.field_names(id).part)),
            of,
            doc: doc.replace("{}", &format!("`{field}`")),
            read: format!("fields.{method}({})?", literal(field)),
        });
    };
    let optional = |id: FieldId| format!("Option<{}>", scope.stored(id));
    for id in &count.split {
        add(*id, "", optional(*id), "The value of {}, if the query splits by it.", "value");
    }
    for id in &count.sums {
        let is_time = scope.field(*id).of == FieldType::Time;
        if !is_time {
            add(*id, "_sum", "::keyloom::Number".to_owned(), "The sum of {}.", "sum");
        }
        let of = if is_time { "typed::Time" } else { "::keyloom::Number" };
        let doc = "The average of {}; none if no entity has a value.";
        add(*id, "_average", format!("Option<{of}>"), doc, "average");
    }
    for id in &count.min {
        add(*id, "_min", optional(*id), "The least {}; none if no entity has a value.", "min");
    }
    for id in &count.max {
        add(*id, "_max", optional(*id), "The greatest {}; none if no entity has a value.", "max");
    }
    members
}

fn write_reading(source: &mut Source, entity: &str, (counted, members): (&str, &[Member])) {
    let mut body = vec![];
    if members.iter().any(|member| member.read.starts_with("fields.")) {
        body.push(format!("let fields = typed::CountedFields::of({}, counted);", literal(entity)));
    }
    body.push(format!("Ok({counted} {{"));
    body.extend(members.iter().map(|Member { name, read, .. }| format!("    {name}: {read},")));
    body.push("})".to_owned());
    let parameters = vec!["counted: &::keyloom::Counted".to_owned()];
    let output = "Result<Self::Counted, typed::Unfit>";
    source.function("", &Function { head: "fn counted", parameters, output, body });
}

fn write_split(source: &mut Source, scope: Scope<'_>, (id, functions): (FieldId, &mut Names)) {
    let names = scope.field_names(id);
    let (variable, field) = (&names.variable, &scope.field(id).name);
    let head = format!("pub fn {}", functions.take(format!("{}_is", names.part)));
    let parameters = vec![format!("{variable}: {}", scope.queried(id))];
    let body = vec![format!("typed::Only::new({}, {variable})", literal(field))];
    let (doc, output) = (format!("Entities with this `{field}`."), "typed::Only<Self>");
    source.function(&doc, &Function { head: &head, parameters, output, body });
    let head = format!("pub fn {}", functions.take(format!("by_{}", names.part)));
    let body = vec![format!("typed::Split::new({})", literal(field))];
    let (doc, output) = (format!("One number for each `{field}`."), "typed::Split<Self>");
    source.function(&doc, &Function { head: &head, parameters: vec![], output, body });
}
