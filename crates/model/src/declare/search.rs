//! Reads `[entity.NAME.search.NAME]`.

use super::keys::{Keys, NamedTable, TableKind};
use crate::declared::DeclaredSearch;
use crate::error::Reporter;

pub(super) const SEARCH: TableKind =
    TableKind { what: "a search", keys: &["fields", "language", "prefixes"] };

pub(crate) fn search(table: &NamedTable<'_>, reporter: &mut Reporter<'_>) -> DeclaredSearch {
    let keys = Keys::read(table.entries, &SEARCH, reporter);
    keys.require("fields", table.name.span, reporter);
    DeclaredSearch {
        name: table.name.clone(),
        fields: keys.words("fields", reporter),
        language: keys.text("language", reporter),
        // True unless it is declared as false.
        has_prefixes: keys.get("prefixes").is_none() || keys.flag("prefixes", reporter).is_some(),
    }
}
