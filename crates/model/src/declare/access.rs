//! Reads `access`: the rules of an entity.

use super::keys::{Keys, NamedTable, TableKind};
use crate::declared::DeclaredAccess;
use crate::error::Reporter;

pub(super) const ACCESS: TableKind =
    TableKind { what: "an access table", keys: &["owner", "read", "create", "update", "delete"] };

pub(crate) fn access(table: &NamedTable<'_>, reporter: &mut Reporter<'_>) -> DeclaredAccess {
    let keys = Keys::read(table.entries, &ACCESS, reporter);
    DeclaredAccess {
        owner: keys.text("owner", reporter),
        read: keys.words("read", reporter),
        create: keys.words("create", reporter),
        update: keys.words("update", reporter),
        delete: keys.words("delete", reporter),
    }
}
