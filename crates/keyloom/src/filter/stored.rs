//! Filters as values that can be stored: a list of the kind and its parts.

use std::ops::Bound;

use keyloom_value::Value;

use super::{Filter, Kind};

const TAG: &str = "tag";
const FACET: &str = "facet";
const RANGE: &str = "range";
const PRESENT: &str = "present";
const SEARCH: &str = "search";
const ALL: &str = "all";
const ANY: &str = "any";
const NOT: &str = "not";
const INCLUDED: &str = "included";
const EXCLUDED: &str = "excluded";

impl Filter {
    /// The value of the filter.
    pub(crate) fn to_value(&self) -> Value {
        let some = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
        let several = |kind: &str, parts: &[Filter]| {
            let parts = parts.iter().map(Filter::to_value);
            Value::L([Value::from(kind)].into_iter().chain(parts).collect())
        };
        match &self.0 {
            Kind::Tag { field, key, value } => {
                Value::L(vec![TAG.into(), some(field), key.as_str().into(), some(value)])
            }
            Kind::Facet { field, value } => {
                Value::L(vec![FACET.into(), field.as_str().into(), value.clone()])
            }
            Kind::Range { field, lower, upper } => {
                let ends = [bound_value(lower), bound_value(upper)];
                let field = [RANGE.into(), field.as_str().into()];
                Value::L(field.into_iter().chain(ends).collect())
            }
            Kind::Present { field } => Value::L(vec![PRESENT.into(), field.as_str().into()]),
            Kind::Search { name, text } => {
                Value::L(vec![SEARCH.into(), name.as_str().into(), text.as_str().into()])
            }
            Kind::All(parts) => several(ALL, parts),
            Kind::Any(parts) => several(ANY, parts),
            Kind::Not(part) => several(NOT, std::slice::from_ref(part)),
        }
    }

    /// Reads the filter of a value; none if it is not one.
    pub(crate) fn from_value(value: &Value) -> Option<Filter> {
        let Value::L(parts) = value else { return None };
        let (kind, parts) = parts.split_first()?;
        let text = |value: &Value| Some(value.as_s()?.to_owned());
        let some = |value: &Value| match value {
            Value::Null => Some(None),
            value => text(value).map(Some),
        };
        let all = || parts.iter().map(Filter::from_value).collect::<Option<Vec<Filter>>>();
        let kind = match (kind.as_s()?, parts) {
            (TAG, [field, key, value]) => {
                Kind::Tag { field: some(field)?, key: text(key)?, value: some(value)? }
            }
            (FACET, [field, value]) => Kind::Facet { field: text(field)?, value: value.clone() },
            (RANGE, [field, lower, upper]) => {
                let (lower, upper) = (bound(lower)?, bound(upper)?);
                Kind::Range { field: text(field)?, lower, upper }
            }
            (PRESENT, [field]) => Kind::Present { field: text(field)? },
            (SEARCH, [name, words]) => Kind::Search { name: text(name)?, text: text(words)? },
            (ALL, _) => Kind::All(all()?),
            (ANY, _) => Kind::Any(all()?),
            (NOT, [part]) => Kind::Not(Box::new(Filter::from_value(part)?)),
            _ => return None,
        };
        Some(Filter(kind))
    }
}

fn bound_value(bound: &Bound<Value>) -> Value {
    match bound {
        Bound::Included(value) => Value::L(vec![INCLUDED.into(), value.clone()]),
        Bound::Excluded(value) => Value::L(vec![EXCLUDED.into(), value.clone()]),
        Bound::Unbounded => Value::Null,
    }
}

fn bound(value: &Value) -> Option<Bound<Value>> {
    match value {
        Value::Null => Some(Bound::Unbounded),
        Value::L(parts) => match &parts[..] {
            [kind, value] => match kind.as_s()? {
                INCLUDED => Some(Bound::Included(value.clone())),
                EXCLUDED => Some(Bound::Excluded(value.clone())),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_filter_is_the_filter() {
        let filters = [
            Filter::tag("a", "b"),
            Filter::tag("", "").in_field("tags"),
            Filter::has_tag("a").in_field("tags"),
            Filter::facet("done", false),
            Filter::range("price", 10..=20),
            Filter::range("price", 10..20),
            Filter::range::<i64>("price", ..),
            Filter::range("price", 7..).not(),
            Filter::present("owner"),
            Filter::search("words", "fix the ro"),
        ];
        for filter in &filters {
            assert_eq!(Filter::from_value(&filter.to_value()).as_ref(), Some(filter));
        }
        let any = Filter::any(filters.clone());
        let all = Filter::all([any, Filter::all([]), Filter::any([]), Filter::tag("x", "y").not()]);
        assert_eq!(Filter::from_value(&all.to_value()), Some(all));
    }

    #[test]
    fn other_values_are_no_filters() {
        let text = |text: &str| Value::from(text);
        let wrong = [
            Value::Null,
            Value::L(vec![]),
            Value::L(vec![text("tag")]),
            Value::L(vec![text("not")]),
            Value::L(vec![text("nor"), text("a")]),
            Value::L(vec![text("all"), text("a")]),
            Value::L(vec![
                text("range"),
                text("a"),
                Value::L(vec![text("x"), 1.into()]),
                Value::Null,
            ]),
        ];
        for value in wrong {
            assert_eq!(Filter::from_value(&value), None, "{value}");
        }
    }
}
