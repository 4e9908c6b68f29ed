//! Salvaging a damaged tree without a log or a backup to rebuild it from: what exists afterwards
//! existed before, everything outside of damaged pages is kept, and a crash leaves the old tree or
//! the new one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use keyloom_store::{
    Consistency, Direction, Engine, Error, ListSets, Members, Query, Read, ReadSet, Salvaged, Scan,
    Scrub, SetName, TableName,
};
use keyloom_testkit::{Random, SimDisk};
use keyloom_value::{Item, KeyCondition};
use pollster::FutureExt;

use crate::rebuild::damage;
use crate::rich::{Log, rich_store, scrub, write};
use crate::rig::{DIRECTORY, in_data, open, repeatable, table};
use crate::tree_damage::{ITEMS, item, kept};

const BLOCK: usize = 4096;
/// Seeds for what survives of unsynced writes, tried for every crash.
const FATES: u64 = 3;

fn salvage(disk: &SimDisk) -> Result<Salvaged, Error> {
    Engine::salvage(DIRECTORY, &repeatable(disk), &mut |_| ControlFlow::Continue(()))
}

fn all_items(engine: &Engine, name: &TableName) -> Vec<Item> {
    let (mut items, mut scan) = (vec![], Scan::new(name));
    loop {
        let page = engine.scan(scan.clone()).block_on().unwrap();
        items.extend(page.items);
        match page.last_key {
            Some(key) => scan.start = Some(key),
            None => return items,
        }
    }
}

fn id(item: &Item) -> i64 {
    item.get("id").unwrap().as_n().unwrap().to_i64().unwrap()
}

/// Returns the ids of all items; each must be what was written, and the index must have the same.
fn check_items(disk: &SimDisk) -> BTreeSet<i64> {
    assert_eq!(scrub(disk, &Scrub::Files).damages, []);
    let engine = open(disk).unwrap();
    let items = all_items(&engine, &table("items"));
    for found in &items {
        assert!((0..ITEMS).contains(&id(found)) && *found == item(id(found)), "{found:?}");
    }
    let ids: BTreeSet<i64> = items.iter().map(id).collect();
    assert_eq!(ids.len(), items.len());
    let mut indexed = BTreeSet::new();
    for color in ["red", "green", "blue"] {
        let query = Query {
            index: Some(table("by_color")),
            consistency: Consistency::Eventual,
            ..Query::new(&table("items"), KeyCondition::equal("color", color))
        };
        indexed.extend(engine.query(query).block_on().unwrap().items.iter().map(id));
    }
    assert_eq!(indexed, ids, "the index matches the items");
    let described = engine.describe_table(table("items")).block_on().unwrap();
    assert_eq!((described.items, described.indexes[0].items), (ids.len() as u64, ids.len() as u64));
    ids
}

/// Returns the blocks that contain items, each with the ids of these.
fn leaves(disk: &SimDisk) -> BTreeMap<usize, BTreeSet<i64>> {
    let bytes = disk.file_bytes(in_data("tree.redb")).unwrap();
    let mut leaves = BTreeMap::new();
    for (number, block) in bytes.chunks(BLOCK).enumerate().filter(|(_, block)| block[0] == 1) {
        let text = String::from_utf8_lossy(block).into_owned();
        let ids = text.split("body of item ").skip(1).filter_map(|rest| {
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<i64>().ok()
        });
        let ids: BTreeSet<i64> = ids.collect();
        if !ids.is_empty() {
            leaves.insert(number, ids);
        }
    }
    leaves
}

#[test]
fn everything_outside_damaged_leaves_is_kept() {
    let whole = kept();
    let leaves: Vec<(usize, BTreeSet<i64>)> = leaves(&whole).into_iter().collect();
    let mut random = Random::new(21);
    let mut lost_any = 0;
    for round in 0..40 {
        let disk = whole.after_crash(0);
        let mut hit = BTreeSet::new();
        for _ in 0..=random.below(1 + round) {
            let (block, ids) = &leaves[random.index(leaves.len())];
            disk.corrupt(in_data("tree.redb"), (block * BLOCK) as u64, |bytes| {
                bytes[random.index(BLOCK)] ^= 1 << random.below(8);
            });
            hit.extend(ids.iter().copied());
        }
        let salvaged = salvage(&disk).unwrap();
        let ids = check_items(&disk);
        let missing: BTreeSet<i64> = (0..ITEMS).filter(|id| !ids.contains(id)).collect();
        assert!(missing.is_subset(&hit), "{:?} was in no damaged leaf", missing.difference(&hit));
        assert_eq!(salvaged.items, ids.len() as u64);
        let reported = salvaged.lost_items.values().map(|lost| lost.unwrap()).sum::<u64>();
        assert_eq!(reported, missing.len() as u64, "{salvaged:?}");
        assert_eq!(salvaged.lost_ranges > 0, !missing.is_empty(), "{salvaged:?}");
        lost_any += usize::from(!missing.is_empty());
    }
    assert!(lost_any > 15, "{lost_any} of 40");
}

#[test]
fn salvaging_never_adds_anything() {
    let whole = kept();
    let mut random = Random::new(22);
    let (mut done, mut refused) = (0, 0);
    for _ in 0..80 {
        let disk = whole.after_crash(0);
        damage(&disk, &mut random);
        let tree = disk.file_bytes(in_data("tree.redb"));
        match salvage(&disk) {
            Ok(salvaged) => {
                done += 1;
                assert_eq!(check_items(&disk).len() as u64, salvaged.items);
            }
            Err(Error::Damaged(_)) => {
                refused += 1;
                assert_eq!(disk.file_bytes(in_data("tree.redb")), tree, "nothing was changed");
                assert!(!disk.files().contains(&in_data("tree.new")));
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(done > 40 && refused > 0, "{done} done, {refused} refused");
}

/// Items by key, and the members of every set.
type Contents = (BTreeMap<String, Item>, BTreeMap<SetName, Members>);

fn contents(disk: &SimDisk) -> Contents {
    let engine = open(disk).unwrap();
    let rich = table("rich");
    let key = |item: &Item| item.get("id").unwrap().to_string();
    let items = all_items(&engine, &rich).into_iter().map(|item| (key(&item), item)).collect();
    let sets = engine.sets().unwrap();
    let list = ListSets { table: rich.clone(), prefix: vec![], after: None, limit: 1000 };
    let mut members = BTreeMap::new();
    for set in sets.list_sets(list).block_on().unwrap() {
        let (mut all, mut from) = (Members::default(), Some(0));
        while let Some(start) = from {
            let part = sets.read_set(ReadSet {
                table: rich.clone(),
                set: set.set.clone(),
                from: start,
                direction: Direction::Forward,
                chunks: 64,
            });
            let part = part.block_on().unwrap();
            all.or(&part.members);
            from = part.through.and_then(|through| through.checked_add(1));
        }
        members.insert(set.set, all);
    }
    (items, members)
}

#[test]
fn sets_are_complete_or_reported_as_dropped_and_the_log_is_replayed() {
    let whole = rich_store(Log::Trimmed);
    let (items, sets) = contents(&whole.after_crash(0));
    let mut random = Random::new(23);
    let mut outcomes = [0, 0];
    for round in 0..60 {
        let disk = whole.after_crash(0);
        (0..1 + round % 4).for_each(|_| damage(&disk, &mut random));
        let Ok(salvaged) = salvage(&disk) else { continue };
        assert_eq!(scrub(&disk, &Scrub::Files).damages, [], "round {round}");
        let (found_items, found_sets) = contents(&disk);
        for (key, found) in &found_items {
            assert_eq!(Some(found), items.get(key), "round {round}");
        }
        match salvaged.without_sets.is_empty() {
            true => assert_eq!(found_sets, sets, "round {round}"),
            false => {
                // They must be filled again: only what the log still has is there.
                for (set, members) in &found_sets {
                    let mut both = sets[set].clone();
                    both.or(members);
                    assert_eq!(both, sets[set], "round {round}: {set:?}");
                }
            }
        }
        outcomes[usize::from(salvaged.without_sets.is_empty())] += 1;
        // The last commits were only in the log.
        assert!(found_items.keys().any(|key| key.contains("item 319")), "round {round}");
        let engine = open(&disk).unwrap();
        assert_eq!(engine.status().unwrap().commit, salvaged.commit);
        write(&engine, 999);
    }
    assert!(outcomes.iter().all(|outcome| *outcome > 3), "{outcomes:?}");
}

#[test]
fn a_crash_at_every_sync_leaves_the_old_tree_or_the_new_one() {
    let whole = kept();
    let leaves: Vec<usize> = leaves(&whole).into_keys().collect();
    let mut found_any = 0;
    for block in leaves.iter().step_by(leaves.len() / 6) {
        whole.corrupt(in_data("tree.redb"), (block * BLOCK) as u64, |bytes| bytes[99] ^= 1);
    }
    let expected = {
        let disk = whole.after_crash(0);
        salvage(&disk).unwrap();
        check_items(&disk)
    };
    for k in 1.. {
        let disk = whole.after_crash(0);
        disk.crash_at_sync(k);
        let outcome = salvage(&disk);
        if !disk.crashed() {
            outcome.unwrap();
            assert!(k > 5, "salvaging must use the disk");
            break;
        }
        for fate in 0..FATES {
            let survived = disk.after_crash(k * 31 + fate);
            if scrub(&survived, &Scrub::Files).findings > 0 {
                found_any += 1;
                salvage(&survived).unwrap();
            }
            assert_eq!(check_items(&survived), expected, "sync {k}");
        }
    }
    assert!(found_any > 0);
}

#[test]
fn a_disk_that_is_full_leaves_everything_as_it_was() {
    let whole = kept();
    let block = *leaves(&whole).keys().next().unwrap();
    whole.corrupt(in_data("tree.redb"), (block * BLOCK) as u64, |bytes| bytes[99] ^= 1);
    let tree = whole.file_bytes(in_data("tree.redb")).unwrap();
    let used: usize = whole.files().iter().map(|path| whole.file_bytes(path).unwrap().len()).sum();
    for room in [0, 10_000, tree.len() / 4] {
        let disk = whole.after_crash(0);
        disk.set_capacity((used + room) as u64);
        let error = salvage(&disk).unwrap_err().to_string();
        assert!(error.contains("free space"), "{error}");
        assert_eq!(disk.file_bytes(in_data("tree.redb")).unwrap(), tree);
        assert_eq!(disk.files(), whole.files());
    }
}

#[test]
fn an_intact_tree_is_salvaged_completely() {
    let disk = kept();
    let salvaged = salvage(&disk).unwrap();
    assert_eq!((salvaged.lost_ranges, salvaged.lost_items.len()), (0, 0), "{salvaged:?}");
    assert_eq!(check_items(&disk).len() as i64, ITEMS);
}
