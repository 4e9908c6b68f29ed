//! Ordered lists.

use crate::declared::{DeclaredEntity, DeclaredList, DeclaredTest};
use crate::error::{Code, Report, Reporter};
use crate::model::{Direction, FieldId, List, OrderBy, Test};
use crate::source::{Span, Word};

use super::literal::{self, InvalidLiteral};
use super::name::check_name;
use super::path::{Paths, Served};
use super::scope::{Scope, Usage, same_field_twice};

pub(crate) fn lists(
    entity: &DeclaredEntity,
    scope: &Scope,
    (paths, reporter): (&mut Paths, &mut Reporter<'_>),
) -> Vec<List> {
    let mut lists: Vec<List> = vec![];
    for declared in &entity.lists {
        let mut list = list(declared, scope, reporter);
        if let Some(path) = &declared.path {
            let (name, by) = (list.name.as_str(), list.by.as_slice());
            let served = Served { what: "list", name, declared_by: &declared.by, by };
            list.path = paths.add((entity, path), (scope, &served), reporter);
        }
        let same = lists.iter().find(|other| is_same(other, &list));
        if let Some(other) = same.filter(|_| is_complete(&list, declared)) {
            let reason = format!("`{}` is the same list as `{}`", list.name, other.name);
            let help = "leave one of them out";
            reporter.push(Report::new(Code::SameTwice, declared.name.span, reason).help(help));
        }
        lists.push(list);
    }
    lists
}

fn list(declared: &DeclaredList, scope: &Scope, reporter: &mut Reporter<'_>) -> List {
    check_name(&declared.name, "a list", reporter);
    let by = scope.find_all(Usage::By, &declared.by, reporter);
    let order = order(&declared.order, (scope, &by), reporter);
    let mut facets = facets((Usage::Facets, &declared.facets), (scope, &by), reporter);
    // The order of declaration does not matter.
    facets.sort_by_key(|field| &scope.field(*field).name);
    let filter = filter(&declared.filter, scope, reporter);
    List { name: declared.name.text.clone(), path: None, by, order, filter, facets }
}

fn order(
    names: &[Word],
    (scope, by): (&Scope, &[FieldId]),
    reporter: &mut Reporter<'_>,
) -> Vec<OrderBy> {
    let mut order: Vec<OrderBy> = vec![];
    for name in names {
        let (direction, name) = direction(name);
        let Some(field) = scope.find_for(Usage::Order, &name, reporter) else { continue };
        if by.contains(&field) {
            let reason = format!("`{}` is the same throughout the list: it is in `by`", name.text);
            let help = "leave it out of `order`";
            reporter.push(Report::new(Code::SameFieldTwice, name.span, reason).help(help));
        } else if order.iter().any(|before| before.field == field) {
            same_field_twice(&name, "order", reporter);
        } else {
            order.push(OrderBy { field, direction });
        }
    }
    order
}

/// `-created` is the field `created`, largest first.
fn direction(name: &Word) -> (Direction, Word) {
    match name.text.strip_prefix('-') {
        Some(field) => {
            // In a text without escapes, the field starts after the sign.
            let is_verbatim = name.span.end - name.span.start == name.text.len();
            let start = name.span.start + usize::from(is_verbatim);
            let span = Span::new(start, name.span.end);
            (Direction::Descending, Word { text: field.to_owned(), span })
        }
        None => (Direction::Ascending, name.clone()),
    }
}

/// Fields that narrow a list or split a count; a field of `by` is fixed and cannot.
pub(crate) fn facets(
    (usage, names): (Usage, &[Word]),
    (scope, by): (&Scope, &[FieldId]),
    reporter: &mut Reporter<'_>,
) -> Vec<FieldId> {
    let facets = scope.find_all(usage, names, reporter);
    for id in facets.iter().filter(|id| by.contains(id)) {
        let field = &scope.field(*id).name;
        if let Some(name) = names.iter().find(|name| &name.text == field) {
            same_field_twice(name, "by", reporter);
        }
    }
    facets
}

/// `where`.
pub(crate) fn filter(
    declared: &[DeclaredTest],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Vec<Test> {
    let mut tests = vec![];
    for test in declared {
        let Some(field) = scope.find_for(Usage::Where, &test.field, reporter) else { continue };
        let written = reporter.written(test.value.span);
        match literal::of_node((&test.value, &written), &scope.field(field).of) {
            Ok(value) => tests.push(Test { field, value }),
            Err(InvalidLiteral { reason, help }) => {
                let (code, span) = (Code::BadValue, test.value.span);
                reporter.push(Report { code, span, reason, help: Some(help) });
            }
        }
    }
    tests
}

/// Whether no part of the declaration was left out because of an error.
fn is_complete(list: &List, declared: &DeclaredList) -> bool {
    list.by.len() == declared.by.len()
        && list.order.len() == declared.order.len()
        && list.filter.len() == declared.filter.len()
        && list.facets.len() == declared.facets.len()
}

fn is_same(a: &List, b: &List) -> bool {
    (&a.by, &a.order, &a.filter, &a.facets) == (&b.by, &b.order, &b.filter, &b.facets)
}
