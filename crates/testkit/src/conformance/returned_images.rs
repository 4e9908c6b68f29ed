//! The images that writes return.

use keyloom_store::{Delete, Invalid, Put, Returns, UpdateItem};
use keyloom_value::{Item, Update, Value};

use super::case::{Case, claims};
use crate::client::{accepted, refused};
use crate::sample::{id_table, item, list, path};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    puts_and_deletes_return_the_old_image,
    puts_and_deletes_return_no_other_image,
    an_update_returns_the_requested_image,
    an_update_of_nothing_has_no_old_image,
    what_an_update_touched_is_its_paths,
    a_touched_element_is_the_one_at_its_path_then,
];

fn puts_and_deletes_return_the_old_image(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let returns = Returns::AllOld;
    let put = |n: i64| client.put(Put { returns, ..Put::new(&table, item! { id: "a", n: n }) });
    let delete = || client.delete(Delete { returns, ..Delete::new(&table, item! { id: "a" }) });
    assert_eq!(accepted(put(1)), None);
    assert_eq!(accepted(put(2)), Some(item! { id: "a", n: 1 }));
    assert_eq!(accepted(put(2)), Some(item! { id: "a", n: 2 }));
    assert_eq!(accepted(client.put(Put::new(&table, item! { id: "a", n: 3 }))), None);
    assert_eq!(accepted(delete()), Some(item! { id: "a", n: 3 }));
    assert_eq!(accepted(delete()), None);
}

fn puts_and_deletes_return_no_other_image(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    for returns in [Returns::UpdatedOld, Returns::AllNew, Returns::UpdatedNew] {
        let put = Put { returns, ..Put::new(&table, item! { id: "a" }) };
        refused(client.put(put), Invalid::Returns { write: "put" });
        let delete = Delete { returns, ..Delete::new(&table, item! { id: "a" }) };
        refused(client.delete(delete), Invalid::Returns { write: "delete" });
    }
}

fn update_returning(client: &Client, before: Option<Item>, update: &Update) -> [Option<Item>; 5] {
    let table = client.make(id_table("checked"));
    let all = [
        Returns::Nothing,
        Returns::AllOld,
        Returns::UpdatedOld,
        Returns::AllNew,
        Returns::UpdatedNew,
    ];
    let images = all.map(|returns| {
        client.remove(&table, item! { id: "a" });
        client.fill(&table, before.clone());
        let update = UpdateItem::new(&table, item! { id: "a" }, update.clone());
        accepted(client.update(update.returning(returns)))
    });
    accepted(client.drop_table(&table));
    images
}

fn an_update_returns_the_requested_image(subject: &dyn Subject) {
    let before = item! { id: "a", kept: 1, changed: 1, removed: 1 };
    let update = Update::new()
        .set(path("changed"), Value::from(2))
        .set(path("added"), Value::from(2))
        .remove(path("removed"));
    let images = update_returning(&Client::of(subject), Some(before.clone()), &update);
    assert_eq!(
        images,
        [
            None,
            Some(before),
            Some(item! { changed: 1, removed: 1 }),
            Some(item! { id: "a", kept: 1, changed: 2, added: 2 }),
            Some(item! { changed: 2, added: 2 }),
        ]
    );
}

fn an_update_of_nothing_has_no_old_image(subject: &dyn Subject) {
    let client = Client::of(subject);
    let update = Update::new().set(path("n"), Value::from(1));
    let images = update_returning(&client, None, &update);
    let new = Some(item! { id: "a", n: 1 });
    assert_eq!(images, [None, None, None, new, Some(item! { n: 1 })]);
    // Nothing that the update touched exists before or after.
    let update = Update::new().remove(path("n"));
    let images = update_returning(&client, Some(item! { id: "a" }), &update);
    let whole = Some(item! { id: "a" });
    assert_eq!(images, [None, whole.clone(), None, whole, None]);
}

fn what_an_update_touched_is_its_paths(subject: &dyn Subject) {
    let before = item! { id: "a", m: item! { x: 1, y: 1 }, l: list([1, 2, 3]) };
    let update = Update::new()
        .set(path("m").member("x"), Value::from(2))
        .set(path("l").element(1), Value::from(9));
    let [_, _, old, _, new] = update_returning(&Client::of(subject), Some(before), &update);
    assert_eq!(old, Some(item! { m: item! { x: 1 }, l: list([2]) }));
    assert_eq!(new, Some(item! { m: item! { x: 2 }, l: list([9]) }));
}

/// An element set past the end of a list does not end up at its path, and removing one moves up the
/// next. The service returns what is at the path.
fn a_touched_element_is_the_one_at_its_path_then(subject: &dyn Subject) {
    let client = Client::of(subject);
    let before = || Some(item! { id: "a", m: item! { l: list([1, 2, 3]) } });
    let element = |at: usize| path("m").member("l").element(at);
    let beyond = Update::new().set(element(100), Value::from(9));
    let [_, _, old, _, new] = update_returning(&client, before(), &beyond);
    assert_eq!((old, new), (None, None));
    let one = |n: i64| Some(item! { m: item! { l: list([n]) } });
    let removal = Update::new().remove(element(1)).remove(element(3));
    let [_, _, old, _, new] = update_returning(&client, before(), &removal);
    assert_eq!((old, new), (one(2), one(3)));
}
