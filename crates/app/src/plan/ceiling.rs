//! How far each part of a model scales: the rate of writes at which one of its partitions has no units
//! left, or one of its rows is always in a transaction.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::workload::{DeclaredQuery, ShardsOf, Workload};
use keyloom_model::{EntityId, Model};
use serde::Serialize;

use super::PlanOptions;
use super::part::{Part, Place, values};
use super::tally::{Tally, Work};

/// What a partition takes in a second.
pub(super) const PARTITION_WRITE_UNITS: f64 = 1000.0;
pub(super) const PARTITION_READ_UNITS: f64 = 3000.0;
/// How often the sample must have a key before its rate means anything.
pub(super) const SEEN_MIN: u64 = 8;

/// What limits a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// The write units of a partition.
    Partition,
    /// The transactions of a row, one after the other.
    Row,
}

/// How far something can grow.
#[derive(Clone, Debug, Serialize)]
pub struct Ceiling {
    /// The query, or what else is written.
    pub part: String,
    /// The shards that would spread it further.
    #[serde(skip)]
    pub shards_of: Option<ShardsOf>,
    /// How many shards it has.
    pub shards: u32,
    /// The values of its heaviest key.
    pub key: String,
    /// What limits it.
    pub limit: Limit,
    /// Write units or transactions in a second there, at the declared rates.
    pub rate: f64,
    /// The share of the limit that this is: above 1, the declared rates are out of reach.
    pub used: f64,
    /// The entity whose writes it limits; none if they are those of all.
    pub writer: Option<String>,
    /// How many writes of it the workload declares in a second.
    pub declared: f64,
    /// How many there can be.
    pub writes: Reached,
}

/// A rate that can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reached {
    /// Operations in a second.
    pub per_second: f64,
    /// Whether more may be possible: the sample has no key that is used often enough to tell.
    #[serde(rename = "at_least")]
    pub is_at_least: bool,
}

/// The heaviest use of a part.
#[derive(Clone, Debug)]
struct Heaviest {
    limit: Limit,
    place: Place,
    /// The share of what the limit allows that the declared rates use.
    used: f64,
    rate: f64,
    writer: Option<Work>,
    seen: u64,
}

/// The ceilings of everything that is written, lowest first.
pub(super) fn ceilings(tally: &Tally, workload: &Workload, options: PlanOptions) -> Vec<Ceiling> {
    let model = tally.layout.model();
    let mut heaviest: BTreeMap<Part, Heaviest> = BTreeMap::new();
    let mut offer = |part: Part, one: Heaviest| {
        // A key that was seen often says more than one that was seen twice.
        let is_known = one.seen >= SEEN_MIN;
        let is_heavier = heaviest
            .get(&part)
            .is_none_or(|other| (is_known, one.used) > (other.seen >= SEEN_MIN, other.used));
        if is_heavier {
            heaviest.insert(part, one);
        }
    };
    for (place, key) in &tally.keys {
        let rate = key.units.write / f64::from(place.shards) / tally.seconds;
        let used = rate / PARTITION_WRITE_UNITS;
        let (limit, place) = (Limit::Partition, place.clone());
        let writer = most(&key.by_work);
        offer(key.part(), Heaviest { limit, place, used, rate, writer, seen: key.seen });
    }
    for ((part, (place, _)), row) in &tally.rows {
        if matches!(part, Part::Permits | Part::System) {
            continue;
        }
        let rate = row.transactions / f64::from(place.shards) / tally.seconds;
        let used = rate * options.transaction_ms / 1000.0;
        let (limit, place) = (Limit::Row, place.clone());
        let writer = most(&row.by_work);
        offer(*part, Heaviest { limit, place, used, rate, writer, seen: row.seen });
    }
    let wanted = wanted(model, workload);
    let mut ceilings: Vec<Ceiling> = heaviest
        .into_iter()
        .filter(|(part, one)| {
            let is_told =
                one.seen >= SEEN_MIN && (!is_spread(*part) || one.used > options.headroom);
            one.used > 0.0 && (wanted.contains(part) || is_told)
        })
        .map(|(part, one)| ceiling(part, &one, model, workload))
        .collect();
    ceilings.sort_by(|a, b| b.used.total_cmp(&a.used).then(a.part.cmp(&b.part)));
    ceilings
}

/// Whether something rarely has a hot key, so that it is reported only if it has.
fn is_spread(part: Part) -> bool {
    match part {
        Part::Rows(_) | Part::System => true,
        Part::Query(_)
        | Part::Ordinals(_)
        | Part::References(_)
        | Part::Filters(_)
        | Part::Expiry(_)
        | Part::Permits => false,
    }
}

fn ceiling(part: Part, one: &Heaviest, model: &Model, workload: &Workload) -> Ceiling {
    let (writer, declared) = match one.writer {
        Some(Work::Write(entity)) => {
            (Some(model.entity(entity).name.clone()), rate(workload, entity))
        }
        // In the background, for everything that is written.
        Some(Work::Read(_) | Work::Folding | Work::Settling) | None => {
            (None, workload.writes.iter().map(|writes| writes.per_second()).sum())
        }
    };
    let is_seen = one.seen >= SEEN_MIN;
    // Of a key that the sample hardly has, only this is known: it is not heavier.
    let used = match is_seen {
        true => one.used,
        false => one.used / one.seen.max(1) as f64 * SEEN_MIN as f64,
    };
    Ceiling {
        part: part.name(model),
        shards_of: part.shards_of(model).filter(|_| writer.is_some()),
        shards: part.shards_of(model).map_or(one.place.shards, |of| of.count(model)),
        key: values(&one.place),
        limit: one.limit,
        rate: one.rate,
        used,
        writer,
        declared,
        writes: Reached { per_second: declared / used, is_at_least: !is_seen },
    }
}

fn rate(workload: &Workload, entity: EntityId) -> f64 {
    let writes = workload.writes.iter().find(|writes| writes.entity == entity);
    writes.map(|writes| writes.per_second()).unwrap_or_default()
}

fn most(by_work: &BTreeMap<Work, f64>) -> Option<Work> {
    by_work.iter().max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(work, _)| *work)
}

/// What every plan has a ceiling of: the declared queries of what is written, and references.
fn wanted(model: &Model, workload: &Workload) -> BTreeSet<Part> {
    let mut wanted = BTreeSet::new();
    for writes in workload.writes.iter().filter(|writes| writes.per_second() > 0.0) {
        let (id, entity) = (writes.entity, model.entity(writes.entity));
        let lists = entity.lists().map(|(list, _)| DeclaredQuery::List(id, list));
        let counts = entity.counts().map(|(count, _)| DeclaredQuery::Count(id, count));
        let boards = entity.boards().map(|(board, _)| DeclaredQuery::Board(id, board));
        let uniques = entity.uniques().map(|(unique, _)| DeclaredQuery::Find(id, unique));
        wanted.extend(lists.chain(counts).chain(boards).chain(uniques).map(Part::Query));
        wanted.extend(model.entities().map(|(target, _)| Part::References(target)));
    }
    wanted
}
