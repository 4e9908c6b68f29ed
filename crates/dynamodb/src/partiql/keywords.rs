//! The words that PartiQL reserves: as names they need double quotes.
//!
//! They are the keywords of SQL-92 and of PartiQL itself that consist of letters and underscores. Not
//! among them are parts of dates and sides of `TRIM`, which the service takes as names: `year` is an
//! attribute in examples of its documentation.

/// Returns whether the word is reserved, in any case.
pub(super) fn is_reserved(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    RESERVED.binary_search(&lower.as_str()).is_ok()
}

#[rustfmt::skip] // A table: as many in a line as fit. In order, for the search.
const RESERVED: &[&str] = &[
    "absolute", "action", "add", "all", "allocate", "alter", "and", "any", "are", "as", "asc",
    "assertion", "at", "authorization", "avg", "bag", "begin", "between", "bit", "bit_length",
    "blob", "bool", "boolean", "by", "cascade", "cascaded", "case", "cast", "catalog", "char",
    "char_length", "character", "character_length", "check", "clob", "close", "coalesce",
    "collate", "collation", "column", "commit", "connect", "connection", "constraint",
    "constraints", "continue", "convert", "corresponding", "count", "create", "cross", "current",
    "current_date", "current_time", "current_timestamp", "current_user", "cursor", "date",
    "deallocate", "dec", "decimal", "declare", "default", "deferrable", "deferred", "delete",
    "desc", "describe", "descriptor", "diagnostics", "disconnect", "distinct", "domain", "double",
    "drop", "else", "end", "escape", "except", "exception", "exec", "execute", "exists",
    "external", "extract", "false", "fetch", "first", "float", "for", "foreign", "found", "from",
    "full", "get", "global", "go", "goto", "grant", "group", "having", "identity", "immediate",
    "in", "index", "indicator", "initially", "inner", "input", "insensitive", "insert", "int",
    "integer", "intersect", "interval", "into", "is", "isolation", "join", "key", "language",
    "last", "left", "level", "like", "limit", "list", "local", "lower", "match", "max", "min",
    "missing", "module", "names", "national", "natural", "nchar", "next", "no", "not", "null",
    "nullif", "numeric", "octet_length", "of", "on", "only", "open", "option", "or", "order",
    "outer", "output", "overlaps", "pad", "partial", "pivot", "position", "precision", "prepare",
    "preserve", "primary", "prior", "privileges", "procedure", "public", "read", "real",
    "references", "relative", "remove", "restrict", "revoke", "right", "rollback", "rows",
    "schema", "scroll", "section", "select", "session", "session_user", "set", "sexp", "size",
    "smallint", "some", "space", "sql", "sqlcode", "sqlerror", "sqlstate", "string", "struct",
    "substring", "sum", "symbol", "system_user", "table", "temporary", "then", "time",
    "timestamp", "to", "transaction", "translate", "translation", "trim", "true", "tuple",
    "union", "unique", "unknown", "unpivot", "update", "upper", "usage", "user", "using", "value",
    "values", "varchar", "varying", "view", "when", "whenever", "where", "with", "work", "write",
    "zone",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        assert!(RESERVED.is_sorted());
        assert!(is_reserved("Inner") && is_reserved("absolute") && is_reserved("ZONE"));
        assert!(!is_reserved("data"));
    }

    #[test]
    fn the_table_has_every_keyword_but_parts_of_dates_and_sides_of_trim() {
        assert_eq!(RESERVED.len(), 232);
        let own =
            ["bag", "index", "limit", "missing", "pivot", "remove", "sexp", "tuple", "unpivot"];
        assert!(own.iter().all(|word| is_reserved(word)));
        let names = [
            "year",
            "month",
            "day",
            "hour",
            "minute",
            "second",
            "timezone_hour",
            "timezone_minute",
            "both",
            "leading",
            "trailing",
            "name",
            "status",
        ];
        assert!(!names.iter().any(|word| is_reserved(word)));
    }
}
