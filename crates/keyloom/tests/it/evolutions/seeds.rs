//! Histories that once failed, each with the model and the seed that found it.

use std::sync::Arc;

use keyloom_model::{Limits, OnDelete, Presence};
use keyloom_store::Store;
use keyloom_testkit::ManualClock;
use keyloom_testkit::model::{Draft, DraftBoard, DraftEntity, DraftField, DraftRanking, DraftType};
use keyloom_testkit::pausing::pausing;

use super::{Settled, play};
use crate::rig::memory_store_at;

/// The naive database let an expired entity conflict with one that shares its value, so it expected
/// a new unique to be refused. Expired entities do not conflict.
#[test]
fn an_expired_entity_does_not_conflict_with_a_new_unique() {
    play(&expiring_tasks(), 7_734_463_568_103_371_109, 4, &memory_store);
    play(&expiring_names(), 2_550_724_712_223_512_117, 4, &memory_store);
}

fn memory_store(clock: &ManualClock) -> Settled {
    let store: Arc<dyn Store> = Arc::new(memory_store_at(clock));
    (pausing(store), Box::new(|| {}))
}

fn expiring_tasks() -> Draft {
    let to_9_99 = Limits { low: None, high: Some("9.99".parse().expect("a number")) };
    let task = DraftEntity {
        expires: Some("person".to_owned()),
        fields: vec![
            required("due", DraftType::Number(to_9_99)),
            DraftField {
                default: Some("1".to_owned()),
                ..optional("until", DraftType::Int(Limits { low: Some(0), high: Some(1) }))
            },
            defaulted("person", DraftType::Time, "now"),
            optional("order", DraftType::Tags),
            optional("by", DraftType::Bytes(unlimited())),
        ],
        boards: vec![DraftBoard {
            name: "task".to_owned(),
            ranking: DraftRanking::Of("until".to_owned()),
            by: vec!["person".to_owned()],
            filter: vec![],
        }],
        ..DraftEntity::bare("task")
    };
    Draft { entities: vec![task], ..Draft::default() }
}

fn expiring_names() -> Draft {
    let team = DraftEntity {
        fields: vec![
            DraftField {
                default: Some("'ä'".to_owned()),
                ..optional("data", DraftType::Text(Limits { low: Some(1), high: Some(4) }))
            },
            required("person", DraftType::Time),
        ],
        ..DraftEntity::bare("team")
    };
    let members = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let name = DraftEntity {
        tenant: Some("text".to_owned()),
        expires: Some("list".to_owned()),
        fields: vec![
            optional("data", DraftType::Ref("name".to_owned(), OnDelete::Refuse)),
            required("owner", DraftType::Any),
            required("list", DraftType::Time),
            defaulted("due", DraftType::Int(Limits { low: Some(1), high: Some(1) }), "1"),
            defaulted("person", DraftType::Enum(members(&["x-1"])), "x-1"),
            required("until", DraftType::Enum(members(&["done", "a"]))),
            required("text", DraftType::Int(unlimited())),
        ],
        ..DraftEntity::bare("name")
    };
    Draft { entities: vec![team, name], ..Draft::default() }
}

fn required(name: &str, of: DraftType) -> DraftField {
    DraftField { name: name.to_owned(), of, presence: Presence::Required, default: None }
}

fn optional(name: &str, of: DraftType) -> DraftField {
    DraftField { presence: Presence::Optional, ..required(name, of) }
}

fn defaulted(name: &str, of: DraftType, default: &str) -> DraftField {
    DraftField { default: Some(default.to_owned()), ..required(name, of) }
}

fn unlimited<T>() -> Limits<T> {
    Limits { low: None, high: None }
}
