//! Orders of two shops, which the tests of counts create, change and delete.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom::Db;
use keyloom_store::Store;
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;
use serde_json::json;

use crate::rig::{engine_at, plain_store};

/// An order, as a test expects it to be.
pub(crate) trait Order: Sized {
    /// How many different orders there are, at most.
    const IDS: u64;

    fn draw(random: &mut Random) -> Self;

    /// Creates or replaces it.
    fn write(&self, db: &Db, id: &str);
}

/// The engine, and a store without additions.
pub(crate) fn stores(clock: &ManualClock) -> [Arc<dyn Store>; 2] {
    [Arc::new(engine_at(clock)), plain_store(clock)]
}

pub(crate) fn shops(db: &Db) {
    for shop in ["s0", "s1"] {
        block_on(db.put("shop", shop, &json!({ "id": shop }))).expect("a shop");
    }
}

/// Creates, changes or deletes an order.
pub(crate) fn change<O: Order>(db: &Db, orders: &mut BTreeMap<String, O>, random: &mut Random) {
    let id = format!("o{}", random.below(O::IDS));
    if orders.contains_key(&id) && random.chance(1, 3) {
        block_on(db.delete("order", &id)).expect("it is deleted");
        orders.remove(&id);
        return;
    }
    let order = O::draw(random);
    order.write(db, &id);
    orders.insert(id, order);
}
