//! Tokens: sending a transaction again does nothing, for ten minutes.

use keyloom_store::{
    Check, Error, Invalid, OnFailure, Put, TableName, TransactAction, TransactWrite, UpdateItem,
};
use keyloom_value::{Condition, Update, Value};

use super::case::{Case, claims};
use crate::client::{accepted, refused};
use crate::sample::{id_table, item, number, path};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    a_transaction_sent_again_does_nothing,
    a_token_is_for_one_transaction,
    a_token_expires_after_ten_minutes,
    sending_again_does_not_prolong_a_token,
    a_failed_transaction_leaves_its_token_free,
    an_invalid_transaction_is_refused_whatever_its_token,
    tokens_have_1_to_36_characters,
];

const TEN_MINUTES_MS: u64 = 10 * 60 * 1000;

/// Adds to the count of an item.
fn add(table: &TableName, id: &str, token: &str) -> TransactWrite {
    let update = Update::new().add(path("n"), Value::from(1));
    let action = TransactAction::Update(UpdateItem::new(table, item! { id: id }, update));
    TransactWrite { token: Some(token.to_owned()), ..TransactWrite::new(vec![action]) }
}

fn count(client: &Client, table: &TableName) -> Option<Value> {
    client.read(table, item! { id: "a" })?.remove("n")
}

fn a_transaction_sent_again_does_nothing(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    for _ in 0..3 {
        accepted(client.transact_write(add(&table, "a", "token")));
        subject.clock().advance_ms(60_000);
    }
    assert_eq!(count(&client, &table), Some(Value::from(1)));
    // Even if the item has changed or was deleted since.
    client.remove(&table, item! { id: "a" });
    accepted(client.transact_write(add(&table, "a", "token")));
    assert_eq!(client.read(&table, item! { id: "a" }), None);
    accepted(client.transact_write(add(&table, "a", "another")));
    assert_eq!(count(&client, &table), Some(Value::from(1)));
    accepted(client.transact_write(TransactWrite { token: None, ..add(&table, "a", "") }));
    assert_eq!(count(&client, &table), Some(Value::from(2)));
}

fn a_token_is_for_one_transaction(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let put = |n: Value, token: &str| TransactWrite {
        token: Some(token.to_owned()),
        ..TransactWrite::new(vec![TransactAction::Put(Put::new(&table, item! { id: "a", n: n }))])
    };
    accepted(client.transact_write(put(number("1"), "token")));
    let reused = || Error::TokenReused { token: "token".to_owned() };
    refused(client.transact_write(put(number("2"), "token")), reused());
    refused(client.transact_write(add(&table, "a", "token")), reused());
    let mut longer = put(number("1"), "token");
    longer.actions.extend(add(&table, "b", "").actions);
    refused(client.transact_write(longer), reused());
    let conditional = Put::new(&table, item! { id: "a", n: 1 }).when(Condition::exists(path("id")));
    let conditional = TransactWrite {
        token: Some("token".to_owned()),
        ..TransactWrite::new(vec![TransactAction::Put(conditional)])
    };
    refused(client.transact_write(conditional), reused());
    // A different spelling of the same number is the same transaction.
    accepted(client.transact_write(put(number("1.0"), "token")));
    assert_eq!(count(&client, &table), Some(Value::from(1)));
}

fn a_token_expires_after_ten_minutes(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    accepted(client.transact_write(add(&table, "a", "token")));
    subject.clock().advance_ms(TEN_MINUTES_MS - 1);
    accepted(client.transact_write(add(&table, "a", "token")));
    assert_eq!(count(&client, &table), Some(Value::from(1)));
    let reused = Error::TokenReused { token: "token".to_owned() };
    refused(client.transact_write(add(&table, "b", "token")), reused);
    subject.clock().advance_ms(1);
    accepted(client.transact_write(add(&table, "a", "token")));
    assert_eq!(count(&client, &table), Some(Value::from(2)));
    // The new use is remembered in turn.
    subject.clock().advance_ms(TEN_MINUTES_MS - 1);
    accepted(client.transact_write(add(&table, "a", "token")));
    assert_eq!(count(&client, &table), Some(Value::from(2)));
    subject.clock().advance_ms(1);
    accepted(client.transact_write(add(&table, "b", "token")));
}

fn sending_again_does_not_prolong_a_token(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    for _ in 0..3 {
        accepted(client.transact_write(add(&table, "a", "token")));
        subject.clock().advance_ms(TEN_MINUTES_MS / 2);
    }
    assert_eq!(count(&client, &table), Some(Value::from(2)));
}

fn a_failed_transaction_leaves_its_token_free(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let check = TransactAction::Check(Check {
        table: table.clone(),
        key: item! { id: "b" },
        condition: Condition::exists(path("id")),
        on_failure: OnFailure::Nothing,
    });
    let mut guarded = add(&table, "a", "token");
    guarded.actions.push(check);
    assert!(client.transact_write(guarded.clone()).is_err());
    client.fill(&table, [item! { id: "b" }]);
    accepted(client.transact_write(guarded));
    assert_eq!(count(&client, &table), Some(Value::from(1)));
}

fn an_invalid_transaction_is_refused_whatever_its_token(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    accepted(client.transact_write(add(&table, "a", "token")));
    let empty = TransactWrite { token: Some("token".to_owned()), ..TransactWrite::default() };
    refused(client.transact_write(empty), Invalid::NoActions);
}

fn tokens_have_1_to_36_characters(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    for token in ["x".to_owned(), "x".repeat(36), "☃".repeat(36)] {
        accepted(client.transact_write(add(&table, "a", &token)));
    }
    assert_eq!(count(&client, &table), Some(Value::from(3)));
    for token in [String::new(), "x".repeat(37)] {
        refused(client.transact_write(add(&table, "a", &token)), Invalid::Token);
    }
}
