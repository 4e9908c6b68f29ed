//! Parameters of requests that are not fields of entities, such as `limit`. Each can be written with a
//! `$`, which names of fields cannot have: `$limit`. If an entity has a field of the same name, its name
//! without a `$` is the field.

use keyloom_model::Entity;

/// Page size.
pub(crate) const LIMIT: &str = "$limit";
/// Position of a page.
pub(crate) const CURSOR: &str = "$cursor";
/// From the end of a list.
pub(crate) const REVERSE: &str = "$reverse";
/// With the number of all matches.
pub(crate) const TOTAL: &str = "$total";
/// Beginning of the keys or values of tags.
pub(crate) const PREFIX: &str = "$prefix";
/// Words to look for.
pub(crate) const SEARCH: &str = "$q";
/// The fields to show.
pub(crate) const FIELDS: &str = "$fields";
/// The result and its changes, as a stream.
pub(crate) const LIVE: &str = "$live";

/// Those that fields can be named after.
const SHARED: [&str; 8] = [LIMIT, CURSOR, REVERSE, TOTAL, PREFIX, FIELDS, SEARCH, LIVE];
/// Those that keep their names: no field of the same name is a parameter beside them.
const OTHERS: [&str; 7] = ["with", "explain", "tag", "split", "window", "fill", "around"];

/// Renames the parameters of a request about an entity to what operations call them. Those in `hidden`
/// are what [`hidden`] returns.
pub(super) fn rename(parameters: &mut [(String, String)], hidden: &[&str]) {
    for (name, _) in parameters {
        let option = SHARED.into_iter().find(|option| shown(option) == name);
        if let Some(option) = option.filter(|option| !hidden.contains(option)) {
            *name = option.to_owned();
        } else if let Some(other) = name.strip_prefix('$').filter(|name| OTHERS.contains(name)) {
            *name = other.to_owned();
        }
    }
}

/// The parameters that fields of an entity have the names of.
pub(super) fn hidden(entity: &Entity) -> Vec<&'static str> {
    SHARED.into_iter().filter(|option| entity.find_field(shown(option)).is_some()).collect()
}

/// What a parameter is called in requests about an entity.
pub(crate) fn name_for<'n>(option: &'n str, entity: &Entity) -> &'n str {
    if hidden(entity).contains(&option) { option } else { shown(option) }
}

/// What messages call a parameter.
pub(crate) fn shown(name: &str) -> &str {
    name.strip_prefix('$').filter(|_| SHARED.contains(&name)).unwrap_or(name)
}
