//! Transactions: all or nothing, and a reason for each action that failed.

use keyloom_store::{
    CancelReason, Check, Delete, Error, Get, Invalid, KeyType, OnFailure, Put, Returns, Scan,
    TableName, TransactAction, TransactGet, TransactWrite, UpdateItem,
};
use keyloom_value::{
    Condition, Item, Projection, Update, UpdateError, UpdateOperator, Value, ValueType,
};

use super::case::{Case, claims};
use crate::client::{accepted, refused};
use crate::sample::{id_table, item, name, number, path, sorted, table_of, text_of, texts};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    a_transaction_does_all_its_actions,
    a_transaction_with_one_failed_action_does_nothing,
    reasons_are_in_the_order_of_the_actions,
    a_reason_has_the_item_if_requested,
    an_update_that_cannot_be_applied_is_a_reason,
    a_check_writes_nothing,
    conditions_see_the_items_as_they_were_before,
    a_transaction_names_an_item_once,
    a_transaction_has_a_maximum_length,
    a_transaction_has_a_maximum_size,
    an_invalid_transaction_is_refused,
    reads_come_back_in_the_order_of_the_request,
    a_transactional_read_names_an_item_once,
    a_transactional_read_has_a_maximum_size_and_length,
];

fn put(table: &TableName, item: Item) -> TransactAction {
    TransactAction::Put(Put::new(table, item))
}

fn update(table: &TableName, id: &str, update: Update) -> TransactAction {
    TransactAction::Update(UpdateItem::new(table, item! { id: id }, update))
}

fn delete(table: &TableName, id: &str) -> TransactAction {
    TransactAction::Delete(Delete::new(table, item! { id: id }))
}

fn check(table: &TableName, id: &str, condition: Condition) -> TransactAction {
    let (table, key) = (table.clone(), item! { id: id });
    TransactAction::Check(Check { table, key, condition, on_failure: OnFailure::Nothing })
}

fn write(client: &Client, actions: impl IntoIterator<Item = TransactAction>) -> Result<(), Error> {
    client.transact_write(TransactWrite::new(actions.into_iter().collect()))
}

fn exists() -> Condition {
    Condition::exists(path("id"))
}

fn failed() -> Option<CancelReason> {
    Some(CancelReason::ConditionFailed { item: None })
}

fn a_transaction_does_all_its_actions(subject: &dyn Subject) {
    let client = Client::of(subject);
    let things = client.make(id_table("things"));
    let others = client.make(id_table("others"));
    client.fill(&things, ["a", "b", "c"].map(|id| item! { id: id, n: 1 }));
    let add = Update::new().add(path("n"), Value::from(1));
    accepted(write(
        &client,
        [
            put(&things, item! { id: "a", new: 1 }),
            update(&things, "b", add.clone()),
            delete(&things, "c"),
            update(&others, "b", add),
            put(&others, item! { id: "a" }),
            delete(&others, "nothing"),
        ],
    ));
    let expected = vec![item! { id: "a", new: 1 }, item! { id: "b", n: 2 }];
    assert_eq!(sorted(client.scan_items(&Scan::new(&things))), expected);
    let expected = vec![item! { id: "a" }, item! { id: "b", n: 1 }];
    assert_eq!(sorted(client.scan_items(&Scan::new(&others))), expected);
}

fn a_transaction_with_one_failed_action_does_nothing(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    client.fill(&table, [item! { id: "a", n: 1 }]);
    let failing = TransactAction::Delete(Delete::new(&table, item! { id: "z" }).when(exists()));
    let result = write(
        &client,
        [put(&table, item! { id: "a", n: 2 }), put(&table, item! { id: "b" }), failing],
    );
    refused(result, Error::Canceled { reasons: vec![None, None, failed()] });
    assert_eq!(client.scan_items(&Scan::new(&table)), [item! { id: "a", n: 1 }]);
    assert_eq!(client.feed(&table, 10).len(), 1);
}

fn reasons_are_in_the_order_of_the_actions(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    client.fill(&table, [item! { id: "b" }]);
    let when = |put: Put| TransactAction::Put(put.when(exists()));
    let result = write(
        &client,
        [
            when(Put::new(&table, item! { id: "d" })),
            when(Put::new(&table, item! { id: "b" })),
            check(&table, "a", exists()),
            put(&table, item! { id: "c" }),
            check(&table, "e", exists().not()),
        ],
    );
    refused(result, Error::Canceled { reasons: vec![failed(), None, failed(), None, None] });
}

fn a_reason_has_the_item_if_requested(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    client.fill(&table, ["a", "b", "c", "d"].map(|id| item! { id: id, n: 1 }));
    let never = || Condition::exists(path("nothing"));
    let (condition, on_failure) = (Some(never()), OnFailure::ReturnItem);
    let key = |id: &str| item! { id: id };
    let actions = [
        TransactAction::Put(Put {
            condition: condition.clone(),
            on_failure,
            ..Put::new(&table, key("a"))
        }),
        TransactAction::Update(UpdateItem {
            condition: condition.clone(),
            on_failure,
            ..UpdateItem::new(&table, key("b"), Update::new())
        }),
        TransactAction::Delete(Delete { condition, on_failure, ..Delete::new(&table, key("c")) }),
        TransactAction::Check(Check {
            table: table.clone(),
            key: key("d"),
            condition: never(),
            on_failure,
        }),
        TransactAction::Check(Check {
            table: table.clone(),
            key: key("e"),
            condition: never(),
            on_failure,
        }),
    ];
    let with = |id: &str| {
        let item = Some(Box::new(item! { id: id, n: 1 }));
        Some(CancelReason::ConditionFailed { item })
    };
    let reasons = vec![with("a"), with("b"), with("c"), with("d"), failed()];
    refused(write(&client, actions), Error::Canceled { reasons });
}

fn an_update_that_cannot_be_applied_is_a_reason(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let full = item! { id: "full", body: text_of(400 * 1024 - 10) };
    client.fill(&table, [item! { id: "text", n: "text" }, full]);
    let result = write(
        &client,
        [
            put(&table, item! { id: "a" }),
            update(&table, "text", Update::new().add(path("n"), Value::from(1))),
            update(&table, "full", Update::new().set(path("n"), Value::from(true))),
            update(&table, "new", Update::new().set(path("n"), path("missing"))),
        ],
    );
    let stored = UpdateError::StoredType {
        operator: UpdateOperator::Add,
        path: path("n"),
        expected: &[ValueType::N],
        found: ValueType::S,
    };
    let limit = 400 * 1024;
    let reason = |invalid| Some(CancelReason::Invalid(invalid));
    refused(
        result,
        Error::Canceled {
            reasons: vec![
                None,
                reason(Invalid::Update(stored)),
                reason(Invalid::ItemTooLarge { bytes: limit + 2, limit }),
                reason(Invalid::Update(UpdateError::MissingOperand { path: path("missing") })),
            ],
        },
    );
    assert_eq!(client.read(&table, item! { id: "a" }), None);
}

fn a_check_writes_nothing(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    client.fill(&table, [item! { id: "a" }]);
    accepted(write(&client, [check(&table, "a", exists()), check(&table, "b", exists().not())]));
    assert_eq!(client.scan_items(&Scan::new(&table)), [item! { id: "a" }]);
    assert_eq!(client.feed(&table, 10).len(), 1);
}

fn conditions_see_the_items_as_they_were_before(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    client.fill(&table, [item! { id: "a", name: "left" }, item! { id: "b", name: "right" }]);
    // Two items swap their names, each only if it still has its own.
    let rename = |id: &str, from: &str, to: &str| {
        let update = Update::new().set(path("name"), Value::from(to));
        let condition = Condition::equal(path("name"), Value::from(from));
        TransactAction::Update(UpdateItem::new(&table, item! { id: id }, update).when(condition))
    };
    let swap = || [rename("a", "left", "right"), rename("b", "right", "left")];
    accepted(write(&client, swap()));
    let expected = vec![item! { id: "a", name: "right" }, item! { id: "b", name: "left" }];
    assert_eq!(sorted(client.scan_items(&Scan::new(&table))), sorted(expected));
    refused(write(&client, swap()), Error::Canceled { reasons: vec![failed(), failed()] });
}

fn a_transaction_names_an_item_once(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let twice = |table: &TableName, key: Item| Invalid::ItemTwice {
        table: table.clone(),
        key: Box::new(key),
    };
    let pairs = [
        [put(&table, item! { id: "a", n: 1 }), delete(&table, "a")],
        [check(&table, "a", exists().not()), put(&table, item! { id: "a" })],
        [update(&table, "a", Update::new()), update(&table, "a", Update::new())],
    ];
    for pair in pairs {
        refused(write(&client, pair), twice(&table, item! { id: "a" }));
    }
    let numbers = client.make(table_of("numbers", KeyType::N, KeyType::N));
    let spelled = |one: &str| put(&numbers, item! { pk: number(one), sk: number(one) });
    let key = item! { pk: 1, sk: 1 };
    refused(write(&client, [spelled("1"), spelled("1.0")]), twice(&numbers, key));
    assert!(client.scan_items(&Scan::new(&table)).is_empty());
}

fn a_transaction_has_a_maximum_length(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let puts = |count: usize| (0..count).map(|at| put(&table, item! { id: format!("{at}") }));
    refused(write(&client, []), Invalid::NoActions);
    refused(write(&client, puts(101)), Invalid::TooManyActions { count: 101, limit: 100 });
    accepted(write(&client, puts(100)));
    assert_eq!(client.scan_items(&Scan::new(&table)).len(), 100);
}

fn a_transaction_has_a_maximum_size(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let limit = 4 * 1024 * 1024;
    // Eleven items of 381,300 bytes are 4 MB minus four bytes.
    let items = |last: usize| {
        (0..11).map(move |at| {
            let bytes = if at == 10 { last } else { 381_300 };
            item! { id: format!("{at:02}"), body: text_of(bytes - 8) }
        })
    };
    let fits = 381_304;
    accepted(write(&client, items(fits).map(|item| put(&table, item))));
    let over = || Invalid::TransactionTooLarge { bytes: limit + 1, limit };
    refused(write(&client, items(fits + 1).map(|item| put(&table, item))), over());
    // It is refused before any condition is evaluated.
    let failing = check(&table, "nothing", exists());
    let failing_bytes = item! { id: "nothing" }.size();
    let actions = items(fits - failing_bytes + 1).map(|item| put(&table, item)).chain([failing]);
    refused(write(&client, actions), over());
    // Updates count with the size of their result.
    let grow = |bytes: usize| Update::new().set(path("body"), Value::from(text_of(bytes - 8)));
    let updates = |last: usize| {
        let bytes = move |at| if at == 10 { last } else { 381_300 };
        (0..11).map(move |at| (format!("{at:02}"), grow(bytes(at))))
    };
    let grown = |last| updates(last).map(|(id, change)| update(&table, &id, change));
    refused(write(&client, grown(fits + 1)), over());
    accepted(write(&client, grown(fits)));
}

fn an_invalid_transaction_is_refused(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let missing = name("missing");
    let returning = Put { returns: Returns::AllOld, ..Put::new(&table, item! { id: "b" }) };
    let wrong: Vec<(TransactAction, Error)> = vec![
        (delete(&missing, "a"), Error::TableNotFound { table: missing.clone() }),
        (put(&table, item! { n: 1 }), Invalid::KeyMissing { attribute: "id".into() }.into()),
        (
            put(&table, item! { id: "b", set: texts(&[]) }),
            Invalid::EmptySet { attribute: "set".into() }.into(),
        ),
        (TransactAction::Put(returning), Invalid::Returns { write: "transaction" }.into()),
        (
            update(&table, "b", Update::new().remove(path("id"))),
            Invalid::UpdatesKey { attribute: "id".into() }.into(),
        ),
    ];
    for (action, expected) in wrong {
        // A failing condition beside it does not matter: nothing is evaluated.
        let actions = [put(&table, item! { id: "a" }), check(&table, "c", exists()), action];
        refused(write(&client, actions), expected);
    }
    assert!(client.scan_items(&Scan::new(&table)).is_empty());
}

fn reads_come_back_in_the_order_of_the_request(subject: &dyn Subject) {
    let client = Client::of(subject);
    let things = client.make(id_table("things"));
    let others = client.make(id_table("others"));
    client.fill(&things, ["a", "b"].map(|id| item! { id: id, n: 1 }));
    client.fill(&others, [item! { id: "a", n: 2 }]);
    let projection = Some(Projection::names(["n"]));
    let gets = vec![
        Get::new(&things, item! { id: "b" }),
        Get::new(&things, item! { id: "c" }),
        Get { projection, ..Get::new(&others, item! { id: "a" }) },
        Get::new(&things, item! { id: "a" }),
    ];
    let b = Some(item! { id: "b", n: 1 });
    let expected = [b, None, Some(item! { n: 2 }), Some(item! { id: "a", n: 1 })];
    assert_eq!(accepted(client.transact_get(TransactGet { gets })), expected);
}

fn a_transactional_read_names_an_item_once(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let (key, projection) = (item! { id: "a" }, Some(Projection::names(["n"])));
    let get = Get::new(&table, key.clone());
    let gets = vec![Get { projection, ..get.clone() }, Get::new(&table, item! { id: "b" }), get];
    let twice = Invalid::ItemTwice { table: table.clone(), key: Box::new(key) };
    refused(client.transact_get(TransactGet { gets }), twice);
}

fn a_transactional_read_has_a_maximum_size_and_length(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let id = |at: usize| format!("{at:03}");
    let read = |count: usize| {
        let gets = (0..count).map(|at| Get::new(&table, item! { id: id(at) })).collect();
        client.transact_get(TransactGet { gets })
    };
    let body = text_of(400 * 1024 - 9);
    client.fill(&table, (0..11).map(|at| item! { id: id(at), body: body.clone() }));
    accepted(read(10));
    let (bytes, limit) = (11 * 400 * 1024, 4 * 1024 * 1024);
    refused(read(11), Invalid::TransactionTooLarge { bytes, limit });
    refused(read(0), Invalid::NoActions);
    refused(read(101), Invalid::TooManyActions { count: 101, limit: 100 });
    (0..11).for_each(|at| client.remove(&table, item! { id: id(at) }));
    assert_eq!(accepted(read(100)), vec![None; 100]);
}
