//! Histories in which the model changes: documents are kept and new fields filled, whatever happens
//! before, during and after the backfill; a refused model changes nothing.

mod seeds;

use std::sync::Arc;

use keyloom::Error;
use keyloom_model::Presence;
use keyloom_store::{Engine, Store};
use keyloom_testkit::model::{Draft, DraftField, DraftType, Edit, EditKind, Verdict, drafts};
use keyloom_testkit::pausing::{pausing, stop_after};
use keyloom_testkit::{InFront, ManualClock, Random};
use proptest::prelude::*;

use crate::cases::for_all;
use crate::histories::take_step;
use crate::rig::{Plain, engine_at, memory_store_at};
use crate::world::{Depth, Readable, Thing, World};

#[test]
fn models_change_within_random_histories_on_the_memory_store() {
    run(150, |clock| {
        let store: Arc<dyn Store> = Arc::new(memory_store_at(clock));
        (pausing(store), Box::new(|| {}))
    });
}

#[test]
fn models_change_within_random_histories_on_the_engine() {
    run(50, |clock| {
        let engine = Arc::new(engine_at(clock));
        let store: Arc<dyn Store> = engine.clone();
        (pausing(store), Box::new(move || settle(&engine)))
    });
}

#[test]
fn models_change_within_random_histories_on_a_store_without_sets() {
    run(100, |clock| {
        let store: Arc<dyn Store> = Arc::new(InFront(Plain(Arc::new(memory_store_at(clock)))));
        (pausing(store), Box::new(|| {}))
    });
}

/// Completes background work and fills indexes.
fn settle(engine: &Engine) {
    engine.checkpoint().expect("a checkpoint");
    engine.settle().expect("indexes are filled");
}

type Settled = (Arc<dyn Store>, Box<dyn Fn()>);

fn run(count: u32, store: impl Fn(&ManualClock) -> Settled) {
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink(), 1..5_usize);
    for_all(count, histories, |(Readable(draft), seed, edits)| {
        play(&draft, seed, edits, &store);
    });
}

/// The default of a new field is applied when a row is read; expiry was judged before, so that
/// entities past the default were visible until the backfill had rewritten them.
#[test]
fn entities_expire_by_the_default_of_a_new_field_before_the_backfill() {
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink());
    for_all(60, histories, |(Readable(draft), seed)| {
        let store = |clock: &ManualClock| -> Settled {
            let store: Arc<dyn Store> = Arc::new(memory_store_at(clock));
            (pausing(store), Box::new(|| {}))
        };
        play_edits(&draft, seed, &[expire_by_new_field, any_edit], &store);
        play_edits(&draft, seed, &[add_time, expire_by_newest_time, any_edit], &store);
    });
}

/// Entities are renamed, renamed again, and others get their earlier names.
#[test]
fn renamed_entities_keep_their_rows_within_random_histories() {
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink());
    let stores: [fn(&ManualClock) -> Settled; 3] = [
        |clock| (pausing(Arc::new(memory_store_at(clock))), Box::new(|| {})),
        |clock| {
            let engine = Arc::new(engine_at(clock));
            let store: Arc<dyn Store> = engine.clone();
            (pausing(store), Box::new(move || settle(&engine)))
        },
        |clock| {
            let plain: Arc<dyn Store> = Arc::new(InFront(Plain(Arc::new(memory_store_at(clock)))));
            (pausing(plain), Box::new(|| {}))
        },
    ];
    for_all(60, histories, |(Readable(draft), seed)| {
        let edits = [rename_entity, any_edit, add_entity, rename_entity, any_edit, rename_entity];
        play_edits(&draft, seed, &edits, &stores[(seed % 3) as usize]);
    });
}

fn rename_entity(draft: &Draft, random: &mut Random) -> Option<Edit> {
    EditKind::RenameEntity.apply(draft, random)
}

fn add_entity(draft: &Draft, random: &mut Random) -> Option<Edit> {
    EditKind::AddEntity.apply(draft, random)
}

type ChooseEdit = fn(&Draft, &mut Random) -> Option<Edit>;

fn any_edit(draft: &Draft, random: &mut Random) -> Option<Edit> {
    random.pick(EditKind::ALL).apply(draft, random)
}

fn expire_by_new_field(draft: &Draft, random: &mut Random) -> Option<Edit> {
    expire_by_newest_time(&add_time(draft, random)?.draft, random)
}

/// Every entity gets a time that is `now` for existing ones.
fn add_time(draft: &Draft, _: &mut Random) -> Option<Edit> {
    let mut draft = draft.clone();
    for entity in &mut draft.entities {
        entity.fields.push(DraftField {
            name: NEWEST_TIME.to_owned(),
            of: DraftType::Time,
            presence: Presence::Required,
            default: Some("now".to_owned()),
        });
    }
    Some(Edit { kind: EditKind::AddDefaultedField, draft })
}

fn expire_by_newest_time(draft: &Draft, random: &mut Random) -> Option<Edit> {
    let mut draft = draft.clone();
    for entity in &mut draft.entities {
        if random.chance(1, 2) && entity.fields.iter().any(|field| field.name == NEWEST_TIME) {
            entity.expires = Some(NEWEST_TIME.to_owned());
        }
    }
    Some(Edit { kind: EditKind::ChangeExpiry, draft })
}

/// No generated field has this name.
const NEWEST_TIME: &str = "newest_time";

fn play(draft: &Draft, seed: u64, edits: usize, store: &impl Fn(&ManualClock) -> Settled) {
    play_edits(draft, seed, &vec![any_edit as ChooseEdit; edits], store);
}

fn play_edits(
    draft: &Draft,
    seed: u64,
    edits: &[ChooseEdit],
    store: &impl Fn(&ManualClock) -> Settled,
) {
    let mut random = Random::new(seed);
    let clock = ManualClock::new();
    let (store, settle) = store(&clock);
    let mut world = World::new(&draft.text(), store, &clock);
    world.settle = settle;
    let mut draft = draft.clone();
    some_steps(&mut world, 20, &mut random);
    for choose in edits {
        let Some(edit) = choose(&draft, &mut random) else { continue };
        if !is_taken_up(&mut world, &edit) {
            continue;
        }
        draft = edit.draft;
        some_steps(&mut world, 4, &mut random);
        world.check_pending(&mut random);
        let done = stop_after(random.below(12), world.db.backfill(|_| {}));
        (world.settle)();
        if let Some(Ok(())) = done {
            world.naive.backfilled();
        }
        some_steps(&mut world, 4, &mut random);
        world.check_pending(&mut random);
        // Sometimes the next model comes before the backfill of the last one is complete.
        if random.chance(3, 4) {
            world.backfill();
            world.check(Depth::All, &mut random);
            some_steps(&mut world, 6, &mut random);
            world.check(Depth::All, &mut random);
        }
    }
    world.backfill();
    world.expire_all();
    world.check(Depth::All, &mut random);
}

fn some_steps(world: &mut World, steps_max: usize, random: &mut Random) {
    for _ in 0..=random.index(steps_max) {
        match random.chance(1, 20) {
            true => drop(world.expire(2)),
            false => take_step(world, random),
        }
    }
}

/// Edits that stored entities may not fit.
const CHECKED: [EditKind; 5] = [
    EditKind::AddFormat,
    EditKind::NarrowRange,
    EditKind::RemoveMember,
    EditKind::MakeRequired,
    EditKind::ConvertType,
];

/// Opens the data under the changed model if that is allowed.
fn is_taken_up(world: &mut World, edit: &Edit) -> bool {
    match edit.kind.verdict() {
        Verdict::Refused => {
            let error = world.is_refused(&edit.draft.text());
            assert!(matches!(error, Error::Evolution(_)), "{:?}: {error}", edit.kind);
            return false;
        }
        Verdict::Allowed | Verdict::Same => {}
    }
    let mut after = world.naive.clone();
    after.evolve(edit.draft.model(), after.now_ms);
    let is_wrong =
        |thing: &Thing| after.entity(&thing.key.kind).check_fields(&thing.fields).is_err();
    if after.things.iter().any(is_wrong) {
        let error = world.is_refused(&edit.draft.text());
        let is_told = matches!(error, Error::Evolution(_) | Error::UniqueViolation { .. });
        assert!(is_told && CHECKED.contains(&edit.kind), "{:?}: {error}", edit.kind);
        return false;
    }
    if !after.has_visible_rivals() {
        world.evolve(&edit.draft.text()).expect("the model is taken up");
        return true;
    }
    let error = world.is_refused(&edit.draft.text());
    assert!(matches!(error, Error::UniqueViolation { .. }), "{:?}: {error}", edit.kind);
    false
}
