//! Transactions.

use super::batch::{Seen, action_count};
use super::item::key;
use super::set::set_bytes;
use super::write::{check, delete, get, put, update};
use crate::limits::{TOKEN_CHARS_MAX, TRANSACTION_ACTIONS_MAX, TRANSACTION_BYTES_MAX};
use crate::{
    Error, Invalid, Returns, Specs, TableSpec, TransactAction, TransactGet, TransactWrite,
};

/// Checks a transaction of reads.
pub(crate) fn transact_get(transaction: &TransactGet, specs: Specs<'_>) -> Result<(), Error> {
    action_count(transaction.gets.len(), TRANSACTION_ACTIONS_MAX)?;
    let mut seen = Seen::default();
    for read in &transaction.gets {
        let spec = specs(&read.table)?;
        get(&spec, read)?;
        seen.first_time((&read.table, &spec), &read.key)?;
    }
    Ok(())
}

/// Checks a transaction of writes. Returns the size that it is known to write.
pub(crate) fn transact_write(
    transaction: &TransactWrite,
    specs: Specs<'_>,
) -> Result<usize, Error> {
    // A transaction can consist of sets or numbers alone.
    let has_others = !transaction.sets.is_empty() || !transaction.numbers.is_empty();
    if !has_others || !transaction.actions.is_empty() {
        action_count(transaction.actions.len(), TRANSACTION_ACTIONS_MAX)?;
    }
    transaction.token.as_deref().map_or(Ok(()), token)?;
    let mut seen = Seen::default();
    let mut bytes = set_bytes(transaction);
    for action in &transaction.actions {
        let spec = specs(action.table())?;
        static_checks(&spec, action)?;
        bytes += known_bytes(action);
        seen.first_time((action.table(), &spec), action.image())?;
    }
    for add in &transaction.numbers {
        let spec = specs(&add.table)?;
        key(&spec, &add.key)?;
        bytes += add.key.size();
        seen.first_time((&add.table, &spec), &add.key)?;
    }
    for change in &transaction.sets {
        specs(&change.table)?;
    }
    transaction_bytes(bytes)?;
    Ok(bytes)
}

/// Checks the total size of a transaction's items: those that it reads or writes; of a deleted or
/// checked one only the key counts. Called again once the results of the updates are known.
pub(crate) fn transaction_bytes(bytes: usize) -> Result<(), Invalid> {
    if bytes > TRANSACTION_BYTES_MAX {
        return Err(Invalid::TransactionTooLarge { bytes, limit: TRANSACTION_BYTES_MAX });
    }
    Ok(())
}

fn token(token: &str) -> Result<(), Invalid> {
    if (1..=TOKEN_CHARS_MAX).contains(&token.chars().count()) {
        Ok(())
    } else {
        Err(Invalid::Token)
    }
}

fn static_checks(spec: &TableSpec, action: &TransactAction) -> Result<(), Invalid> {
    let returns = match action {
        TransactAction::Put(action) => {
            put(spec, action)?;
            action.returns
        }
        TransactAction::Update(action) => {
            update(spec, action)?;
            action.returns
        }
        TransactAction::Delete(action) => {
            delete(spec, action)?;
            action.returns
        }
        TransactAction::Check(action) => {
            check(spec, action)?;
            Returns::Nothing
        }
    };
    match returns {
        Returns::Nothing => Ok(()),
        Returns::AllOld | Returns::UpdatedOld | Returns::AllNew | Returns::UpdatedNew => {
            Err(Invalid::Returns { write: "transaction" })
        }
    }
}

/// Returns the size of what is put; of anything else, the size of the key.
fn known_bytes(action: &TransactAction) -> usize {
    action.image().size()
}
