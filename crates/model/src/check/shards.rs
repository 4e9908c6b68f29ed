//! `shards`: over how many partitions of a shared table something is spread that many writers touch.

use crate::declared::DeclaredList;
use crate::error::{Code, Report, Reporter};
use crate::parse::{Node, NodeKind};

/// Of what is read shard by shard.
pub(crate) const READ_MAX: i64 = 100;
/// Of what is also read or written in one transaction, which has 100 rows.
pub(crate) const TRANSACTED_MAX: i64 = 50;

/// The number of shards that a key declares; 1 without it.
pub(crate) fn number(declared: Option<&Node>, max: i64, reporter: &mut Reporter<'_>) -> u32 {
    let Some(node) = declared else { return 1 };
    let given = match node.kind {
        NodeKind::Integer(given) if (2..=max).contains(&given) => u32::try_from(given).ok(),
        _ => None,
    };
    given.unwrap_or_else(|| {
        let reason = format!("a number of shards is a whole number from 2 to {max}");
        let help = "without it, there is one";
        reporter.push(Report::new(Code::BadShards, node.span, reason).help(help));
        1
    })
}

/// The number of shards of a list. One without `by` has those of its entity.
pub(crate) fn of_list(declared: &DeclaredList, reporter: &mut Reporter<'_>) -> u32 {
    let node = declared.shards.as_ref();
    if let Some(node) = node.filter(|_| declared.by.is_empty()) {
        let reason = format!("the list `{}` has no `by`", declared.name.text);
        let help = "declare `shards` with the entity: they apply to all of its lists without `by`";
        reporter.push(Report::new(Code::BadShards, node.span, reason).help(help));
    }
    number(node, READ_MAX, reporter)
}
