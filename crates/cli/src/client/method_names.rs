//! Names of methods, from those of operations: `list_task_open` is `list_open` of `task`.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::api::Method;
use super::described::Described;

/// Beginnings of operations, with that of methods; where one begins with another, the longer one comes
/// first. Methods are in this order.
const VERBS: [(&str, &str); 18] = [
    ("create", "create"),
    ("read", "read"),
    ("change_all", "update_all"),
    ("change", "update"),
    ("replace", "replace"),
    ("delete_all", "delete_all"),
    ("delete", "delete"),
    ("find", "find"),
    ("list", "list"),
    ("count", "count"),
    ("facets", "facets"),
    ("facet", "facet"),
    ("tags_of_key", "tags_of_key"),
    ("tags", "tags"),
    ("cancel", "cancel"),
    ("replay", "replay"),
    ("reschedule", "reschedule"),
    ("children", "children"),
];

/// The operations of a document, by their ids.
pub(super) struct Operations<'d> {
    by_id: BTreeMap<&'d str, Described<'d>>,
}

impl<'d> Operations<'d> {
    pub(super) fn new(document: &'d Json) -> Operations<'d> {
        let mut by_id = BTreeMap::new();
        for (path, methods) in document["paths"].as_object().into_iter().flatten() {
            for (http, json) in methods.as_object().into_iter().flatten() {
                let id = json["operationId"].as_str().unwrap_or_default();
                let group = json["tags"][0].as_str().unwrap_or_default();
                let http = http.to_ascii_uppercase();
                by_id.insert(id, Described { group, http, path, json });
            }
        }
        Operations { by_id }
    }

    /// The methods of a group, made by `make` from a name and an operation.
    pub(super) fn methods(
        &self,
        group: &str,
        make: &mut dyn FnMut(&str, &Described<'d>) -> Vec<Method>,
    ) -> Vec<Method> {
        let all = self.by_id.iter().filter(|(_, one)| one.group == group);
        let mut named: Vec<(String, &Described<'d>)> =
            all.map(|(id, one)| (self.method(id, group), one)).collect();
        named.sort_by_key(|(name, _)| place(name));
        named.iter().flat_map(|(name, one)| make(name, one)).collect()
    }

    /// The name of a method.
    fn method(&self, id: &str, group: &str) -> String {
        let id = self.without_number(id, group);
        for (verb, name) in VERBS {
            let rest = id.strip_prefix(verb).and_then(|rest| rest.strip_prefix('_'));
            let rest = rest.and_then(|rest| rest.strip_prefix(group));
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('_')) {
                return format!("{name}{rest}");
            }
        }
        if id.starts_with("board_") || id.starts_with("rank_") {
            return id.to_owned();
        }
        match id.strip_suffix(&format!("_of_{group}")) {
            Some(children) => children.to_owned(),
            // The values of one of several fields with tags.
            None => id.replacen(&format!("_{group}_"), "_", 1),
        }
    }

    /// An id without the number that it has only because an operation of another group has it, too.
    fn without_number<'i>(&self, id: &'i str, group: &str) -> &'i str {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let Some((base, number)) = id.rsplit_once('_') else { return id };
        let other = self.by_id.get(base).filter(|_| is_number(number));
        if other.is_some_and(|other| other.group != group) { base } else { id }
    }
}

/// The place of a method among others: changes of many entities come last.
fn place(name: &str) -> usize {
    let is_verb = |(_, verb): &(&str, &str)| {
        name.strip_prefix(verb).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    match VERBS.iter().position(is_verb) {
        Some(index) if VERBS[index].1.ends_with("_all") => VERBS.len() + 1,
        Some(index) => index,
        None => VERBS.len(),
    }
}
