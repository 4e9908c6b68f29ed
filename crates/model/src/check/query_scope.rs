//! The fields of an entity as a list, a count or a board uses them.

use crate::declared::DeclaredTest;
use crate::error::{Code, Report, Reporter};
use crate::model::{Direction, FieldId, OrderBy, Test};
use crate::source::{Span, Word};

use super::literal::{self, InvalidLiteral};
use super::scope::{Scope, Usage, same_field_twice};

/// The fields of an entity, and those of them in the `by` of a declared query: they have one value
/// throughout it, so nothing else can depend on them.
pub(crate) struct QueryScope<'s> {
    scope: &'s Scope,
    by: Vec<FieldId>,
}

impl<'s> QueryScope<'s> {
    pub(crate) fn new(
        scope: &'s Scope,
        declared_by: &[Word],
        reporter: &mut Reporter<'_>,
    ) -> QueryScope<'s> {
        QueryScope { scope, by: scope.find_all(Usage::By, declared_by, reporter) }
    }

    pub(crate) fn into_by(self) -> Vec<FieldId> {
        self.by
    }

    pub(crate) fn order(&self, names: &[Word], reporter: &mut Reporter<'_>) -> Vec<OrderBy> {
        let mut order: Vec<OrderBy> = vec![];
        for name in names {
            let (direction, name) = direction(name);
            let Some(field) = self.scope.find_for(Usage::Order, &name, reporter) else { continue };
            if self.by.contains(&field) {
                let reason =
                    format!("`{}` is the same throughout the list: it is in `by`", name.text);
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

    /// Fields that narrow a list, split a count or are ranked by a board, in the order of `names`.
    pub(crate) fn facets(
        &self,
        usage: Usage,
        names: &[Word],
        reporter: &mut Reporter<'_>,
    ) -> Vec<FieldId> {
        let facets = self.scope.find_all(usage, names, reporter);
        for id in facets.iter().filter(|id| self.by.contains(id)) {
            let field = &self.scope.field(*id).name;
            if let Some(name) = names.iter().find(|name| &name.text == field) {
                same_field_twice(name, "by", reporter);
            }
        }
        facets
    }

    /// The same fields in the order of their names, where the order of declaration does not matter.
    pub(crate) fn facets_by_name(
        &self,
        usage: Usage,
        names: &[Word],
        reporter: &mut Reporter<'_>,
    ) -> Vec<FieldId> {
        let mut facets = self.facets(usage, names, reporter);
        facets.sort_by_key(|field| &self.scope.field(*field).name);
        facets
    }

    /// `where`.
    pub(crate) fn filter(
        &self,
        declared: &[DeclaredTest],
        reporter: &mut Reporter<'_>,
    ) -> Vec<Test> {
        let mut tests = vec![];
        for test in declared {
            let field = self.scope.find_for(Usage::Where, &test.field, reporter);
            let Some(field) = field else { continue };
            let of = &self.scope.field(field).of;
            match literal::of_node(&test.value, of) {
                Some(value) => tests.push(Test { field, value }),
                None => {
                    let span = test.value.span;
                    let InvalidLiteral { reason, help } =
                        InvalidLiteral::new(&reporter.written(span), of);
                    reporter.push(Report::new(Code::BadValue, span, reason).help(help));
                }
            }
        }
        tests
    }
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
