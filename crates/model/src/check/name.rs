//! Names: their form, reserved names, and entities by name.

use std::collections::BTreeMap;

use crate::declared::DeclaredEntity;
use crate::error::{Code, Report, Reporter};
use crate::model::EntityId;
use crate::source::Word;

/// Maximum length of a name, in characters.
const LENGTH_MAX: usize = 60;

/// Names that fields cannot have, because documents in responses have other members of these names.
pub(crate) const RESERVED: &[&str] = &["id", "version", "with", "explain"];

/// The entities of a file by name.
pub(crate) struct Entities<'d> {
    by_name: BTreeMap<&'d str, EntityId>,
}

impl<'d> Entities<'d> {
    pub(crate) fn new(declared: &'d [DeclaredEntity], reporter: &mut Reporter<'_>) -> Self {
        let mut by_name = BTreeMap::new();
        for (entity, index) in declared.iter().zip(0..) {
            check_name(&entity.name, "an entity", reporter);
            by_name.insert(entity.name.text.as_str(), EntityId(index));
        }
        Entities { by_name }
    }

    /// The entity that was declared last.
    pub(crate) fn last(&self) -> Option<EntityId> {
        self.by_name.values().copied().max()
    }

    /// Whether one has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub(crate) fn find(&self, name: &Word, reporter: &mut Reporter<'_>) -> Option<EntityId> {
        let found = self.by_name.get(name.text.as_str()).copied();
        if found.is_none() {
            let reason = format!("unknown entity `{}`", name.text);
            let known = self.by_name.keys().copied();
            let help = reporter.suggest(&name.text, "entities are", known);
            let (code, span) = (Code::UnknownEntity, name.span);
            reporter.push(Report { code, span, reason, help });
        }
        found
    }
}

/// Checks the form of a name; `what` is the kind of thing it names.
pub(crate) fn check_name(name: &Word, what: &str, reporter: &mut Reporter<'_>) {
    if name.text.chars().count() > LENGTH_MAX {
        let reason = format!("the name of {what} has more than {LENGTH_MAX} characters");
        reporter.report(Code::BadName, name.span, reason);
        return;
    }
    let is_start = |c: char| c.is_ascii_lowercase();
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.text.starts_with(is_start) && name.text.chars().all(is_part) {
        return;
    }
    let reason = format!("`{}` cannot be the name of {what}", name.text);
    let mut help =
        "a name is a lower-case letter, then lower-case letters, digits and `_`".to_owned();
    let valid = snake_case(&name.text);
    if valid.starts_with(is_start) {
        help.push_str(&format!(", such as `{valid}`"));
    }
    reporter.push(Report::new(Code::BadName, name.span, reason).help(help));
}

/// Converts `shopOrder` and `shop-order` to `shop_order`.
fn snake_case(name: &str) -> String {
    let mut converted = String::new();
    for c in name.chars() {
        let is_break = c.is_ascii_uppercase() || !c.is_ascii_alphanumeric();
        if is_break && !converted.is_empty() && !converted.ends_with('_') {
            converted.push('_');
        }
        if c.is_ascii_alphanumeric() {
            converted.push(c.to_ascii_lowercase());
        }
    }
    converted.trim_end_matches('_').to_owned()
}
