//! Fingerprints of transactions: equal requests have equal fingerprints.

use std::fmt::Write;

use keyloom_value::{Condition, Item};
use twox_hash::XxHash3_128;

use crate::{
    AddNumber, Membership, OnFailure, SetChange, TableName, TransactAction, TransactWrite,
};

/// Hashes the text of the actions, which is unambiguous and, unlike a derived hash, the same in
/// every build.
pub(crate) fn fingerprint(transaction: &TransactWrite) -> u128 {
    let mut text = String::new();
    for action in &transaction.actions {
        match action {
            TransactAction::Put(put) => {
                describe(&mut text, "put", &put.table, &put.item);
                when(&mut text, put.condition.as_ref(), put.on_failure);
            }
            TransactAction::Update(update) => {
                describe(&mut text, "update", &update.table, &update.key);
                append(&mut text, format_args!(" {}", update.update));
                when(&mut text, update.condition.as_ref(), update.on_failure);
            }
            TransactAction::Delete(delete) => {
                describe(&mut text, "delete", &delete.table, &delete.key);
                when(&mut text, delete.condition.as_ref(), delete.on_failure);
            }
            TransactAction::Check(check) => {
                describe(&mut text, "check", &check.table, &check.key);
                when(&mut text, Some(&check.condition), check.on_failure);
            }
        }
    }
    for AddNumber { table, key, attribute, change, sums, rank } in &transaction.numbers {
        describe(&mut text, "add", table, key);
        append(&mut text, format_args!(" {attribute} {change} {sums:?} {rank:?}\n"));
    }
    for SetChange { table, set, ordinals, becomes } in &transaction.sets {
        let verb = match becomes {
            Membership::In => "join",
            Membership::Out => "leave",
        };
        append(&mut text, format_args!("{verb} {table} {ordinals:?} {:02x?}\n", set.as_bytes()));
    }
    XxHash3_128::oneshot(text.as_bytes())
}

fn describe(text: &mut String, verb: &str, table: &TableName, item: &Item) {
    append(text, format_args!("{verb} {table} {item}"));
}

fn when(text: &mut String, condition: Option<&Condition>, on_failure: OnFailure) {
    if let Some(condition) = condition {
        append(text, format_args!(" when {condition}"));
    }
    text.push_str(match on_failure {
        OnFailure::Nothing => "\n",
        OnFailure::ReturnItem => " returning\n",
    });
}

fn append(text: &mut String, part: std::fmt::Arguments<'_>) {
    let written = text.write_fmt(part);
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
}
