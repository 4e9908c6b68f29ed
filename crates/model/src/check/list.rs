//! Ordered lists.

use crate::declared::DeclaredList;
use crate::error::{Code, Report, Reporter};
use crate::model::{Grantees, List};

use super::name::check_name;
use super::query_scope::QueryScope;
use super::scope::{Scope, Usage};
use super::shards;

/// The lists of an entity, without their paths.
pub(crate) fn lists(
    declared: &[DeclaredList],
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Vec<List> {
    let mut lists: Vec<List> = vec![];
    for declared in declared {
        let list = list(declared, scope, reporter);
        let same = lists.iter().find(|other| is_same(other, &list));
        if let Some(other) = same.filter(|_| is_complete(&list, declared)) {
            let reason = format!("`{}` is the same list as `{}`", list.name, other.name);
            let report = Report::new(Code::SameTwice, declared.name.span, reason);
            reporter.push(report.help("leave one of them out"));
        }
        lists.push(list);
    }
    lists
}

fn list(declared: &DeclaredList, scope: &Scope, reporter: &mut Reporter<'_>) -> List {
    check_name(&declared.name, "a list", reporter);
    let scope = QueryScope::new(scope, &declared.by, reporter);
    List {
        name: declared.name.text.clone(),
        path: None,
        order: scope.order(&declared.order, reporter),
        facets: scope.facets_by_name(Usage::Facets, &declared.facets, reporter),
        filter: scope.filter(&declared.filter, reporter),
        readers: Grantees::default(),
        shards: shards::of_list(declared, reporter),
        by: scope.into_by(),
    }
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
