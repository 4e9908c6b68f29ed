//! Time to live: what expires, what does not, and what remains of it.

use keyloom_store::{
    Alteration, Cause, KeySchema, KeyType, Scan, TableName, TableSpec, Time, UpdateItem,
};
use keyloom_value::{Item, Update, Value};

use super::case::{Case, claims};
use crate::client::accepted;
use crate::sample::{global, id_table, index_name, item, number, path};
use crate::{Client, ManualClock, Subject};

pub(super) const CASES: &[Case] = claims![
    an_item_is_deleted_after_its_second_has_passed,
    only_a_number_of_seconds_expires,
    a_second_more_than_five_years_ago_is_ignored,
    an_expiry_is_marked_in_the_feed,
    an_expired_item_leaves_every_index,
    a_later_second_keeps_the_item,
    time_to_live_can_be_turned_on_and_off,
    an_expired_item_can_be_written_again,
    tables_without_time_to_live_keep_everything,
];

/// The initial time of every clock, in seconds.
const NOW: i64 = ManualClock::START.0 as i64 / 1000;

fn expiring(table: &str) -> TableSpec {
    TableSpec { ttl: Some("expires".into()), ..id_table(table) }
}

fn ids(client: &Client, table: &TableName) -> Vec<String> {
    let items = client.scan_items(&Scan::new(table));
    let id = |item: &Item| item.get("id").unwrap().as_s().unwrap().to_owned();
    let mut ids: Vec<String> = items.iter().map(id).collect();
    ids.sort();
    ids
}

fn pass_secs(subject: &dyn Subject, secs: u64) {
    subject.clock().advance_ms(secs * 1000);
    subject.settle();
}

fn an_item_is_deleted_after_its_second_has_passed(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(expiring("things"));
    client.fill(&table, (0..4).map(|n| item! { id: format!("{n}"), expires: NOW + n }));
    subject.settle();
    assert_eq!(ids(&client, &table), ["0", "1", "2", "3"], "the second is not over yet");
    pass_secs(subject, 1);
    assert_eq!(ids(&client, &table), ["1", "2", "3"]);
    subject.clock().advance_ms(999);
    subject.settle();
    assert_eq!(ids(&client, &table), ["1", "2", "3"]);
    pass_secs(subject, 10);
    assert_eq!(ids(&client, &table), Vec::<String>::new());
    assert_eq!(accepted(client.describe_table(&table)).items, 0);
}

fn only_a_number_of_seconds_expires(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(expiring("things"));
    let past = NOW - 10;
    let with = |id: &str, expires: Value| item! { id: id, expires: expires };
    client.fill(
        &table,
        [
            item! { id: "a-none" },
            with("b-text", Value::from(past.to_string())),
            with("c-null", Value::Null),
            with("d-fraction", number(&format!("{past}.5"))),
            with("e-list", Value::from(vec![Value::from(past)])),
            with("f-milliseconds", Value::from(past * 1000)),
            with("g-huge", number("1E+100")),
            with("h-number", number(&format!("{past}.0"))),
        ],
    );
    pass_secs(subject, 1);
    let left = ["a-none", "b-text", "c-null", "e-list", "f-milliseconds", "g-huge"];
    assert_eq!(ids(&client, &table), left);
}

fn a_second_more_than_five_years_ago_is_ignored(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(expiring("things"));
    let five_years = 5 * 365 * 24 * 60 * 60;
    client.fill(
        &table,
        [
            item! { id: "zero", expires: 0 },
            item! { id: "negative", expires: -1 },
            item! { id: "older", expires: NOW - five_years - 1 },
            item! { id: "younger", expires: NOW - five_years },
        ],
    );
    subject.settle();
    assert_eq!(ids(&client, &table), ["negative", "older", "zero"]);
}

fn an_expiry_is_marked_in_the_feed(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(expiring("things"));
    let expiring = item! { id: "a", expires: NOW, n: 1 };
    client.fill(&table, [expiring.clone(), item! { id: "b" }]);
    client.remove(&table, item! { id: "b" });
    pass_secs(subject, 5);
    let changes = client.feed(&table, 10);
    assert_eq!(changes.len(), 4);
    assert_eq!(changes[2].cause, Cause::Request);
    let expiry = &changes[3];
    assert_eq!((&expiry.key, expiry.cause), (&item! { id: "a" }, Cause::Expiry));
    assert_eq!((&expiry.old, &expiry.new), (&Some(expiring), &None));
    assert_eq!(expiry.at, Time(ManualClock::START.0 + 5000));
}

fn an_expired_item_leaves_every_index(subject: &dyn Subject) {
    let client = Client::of(subject);
    let by_owner = global("by-owner", KeySchema::partition("owner", KeyType::S));
    let by_expiry = global("by-expiry", KeySchema::partition("expires", KeyType::N));
    let table = client.make(TableSpec { indexes: vec![by_owner, by_expiry], ..expiring("things") });
    client.fill(
        &table,
        [
            item! { id: "a", owner: "o", expires: NOW },
            item! { id: "b", owner: "o", expires: NOW + 100 },
        ],
    );
    pass_secs(subject, 1);
    for index in ["by-owner", "by-expiry"] {
        let scan = Scan { index: Some(index_name(index)), ..Scan::new(&table) };
        let left: Vec<Item> = client.scan_items(&scan);
        assert_eq!(left, [item! { id: "b", owner: "o", expires: NOW + 100 }]);
    }
}

fn a_later_second_keeps_the_item(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(expiring("things"));
    client.fill(&table, ["a", "b", "c"].map(|id| item! { id: id, expires: NOW + 5 }));
    let later = Update::new().set(path("expires"), Value::from(NOW + 50));
    accepted(client.update(UpdateItem::new(&table, item! { id: "a" }, later)));
    let never = Update::new().remove(path("expires"));
    accepted(client.update(UpdateItem::new(&table, item! { id: "b" }, never)));
    pass_secs(subject, 10);
    assert_eq!(ids(&client, &table), ["a", "b"]);
    pass_secs(subject, 100);
    assert_eq!(ids(&client, &table), ["b"]);
}

fn time_to_live_can_be_turned_on_and_off(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let set = |attribute: Option<&str>| {
        let change = Alteration::SetTtl(attribute.map(Into::into));
        accepted(client.alter_table(&table, change));
        pass_secs(subject, 1);
    };
    client.fill(&table, [item! { id: "a", expires: NOW }, item! { id: "b", until: NOW }]);
    pass_secs(subject, 1);
    assert_eq!(ids(&client, &table), ["a", "b"]);
    set(Some("expires"));
    assert_eq!(ids(&client, &table), ["b"]);
    set(None);
    client.fill(&table, [item! { id: "c", expires: NOW }]);
    pass_secs(subject, 1);
    assert_eq!(ids(&client, &table), ["b", "c"]);
    set(Some("until"));
    assert_eq!(ids(&client, &table), ["c"]);
}

fn an_expired_item_can_be_written_again(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(expiring("things"));
    client.fill(&table, [item! { id: "a", expires: NOW }]);
    pass_secs(subject, 1);
    client.fill(&table, [item! { id: "a", n: 2 }]);
    pass_secs(subject, 100);
    assert_eq!(client.read(&table, item! { id: "a" }), Some(item! { id: "a", n: 2 }));
    assert_eq!(client.feed(&table, 10).len(), 3);
}

fn tables_without_time_to_live_keep_everything(subject: &dyn Subject) {
    let client = Client::of(subject);
    let with = client.make(expiring("with"));
    let without = client.make(id_table("without"));
    for table in [&with, &without] {
        client.fill(table, [item! { id: "a", expires: NOW }]);
    }
    pass_secs(subject, 1);
    assert_eq!(ids(&client, &with), Vec::<String>::new());
    assert_eq!(ids(&client, &without), ["a"]);
}
