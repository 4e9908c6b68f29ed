//! What a plan says, as plain data.

use std::collections::BTreeMap;

use serde::Serialize;

use super::PlanRequest;
use super::ceiling::{Ceiling, PARTITION_READ_UNITS, PARTITION_WRITE_UNITS, SEEN_MIN, ceilings};
use super::part::{Place, values};
use super::prices::DYNAMODB_PRICES;
use super::tally::{KeyUse, Tally, Units, Work};

/// How many keys of the table and of each index are reported.
const KEYS_MAX: usize = 8;

/// A plan, and one with the shards that it proposes.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReport {
    /// The plan of the model as it is.
    pub declared: Plan,
    /// The shards to declare.
    pub proposals: Vec<Proposal>,
    /// The plan of the model with these shards, if they were tried.
    pub proposed: Option<Plan>,
    /// The text of that model.
    pub proposed_model: Option<String>,
}

/// What a workload costs, and how far it can grow.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// How long the sample lasted at the declared rates.
    pub sample_seconds: f64,
    /// Units and dollars, in all.
    pub total: Costs,
    /// The same by what consumes them, the most expensive first.
    pub costs: Vec<CostOf>,
    /// The table, then its indexes.
    pub spaces: Vec<SpaceHeat>,
    /// How far each query and what it needs can grow, lowest ceiling first.
    pub ceilings: Vec<Ceiling>,
    /// Partition keys whose reads come close to what a partition takes.
    pub hot_reads: Vec<HotKey>,
}

/// Units in a second, and dollars in a month of 30 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Costs {
    /// Write units in a second.
    pub write_units: f64,
    /// Read units in a second.
    pub read_units: f64,
    /// US dollars in a month.
    pub dollars_a_month: f64,
}

/// What one kind of work costs.
#[derive(Clone, Debug, Serialize)]
pub struct CostOf {
    /// The work, such as `writes of comment`, or the name of a query.
    pub work: String,
    /// Operations in a second; none of background work.
    pub per_second: Option<f64>,
    /// What all of them cost.
    #[serde(flatten)]
    pub costs: Costs,
}

/// The heat of the table or of an index.
#[derive(Clone, Debug, Serialize)]
pub struct SpaceHeat {
    /// The name of the index; none if it is the table.
    pub index: Option<String>,
    /// Write units in a second.
    pub write_units: f64,
    /// Read units in a second.
    pub read_units: f64,
    /// The fewest partitions that take this.
    pub partitions: u64,
    /// The keys with the most write units, or else read units.
    pub keys: Vec<HotKey>,
}

/// The heat of a partition key.
#[derive(Clone, Debug, Serialize)]
pub struct HotKey {
    /// The index; none if it is the table.
    pub index: Option<String>,
    /// What it is part of.
    pub part: String,
    /// Its values.
    pub key: String,
    /// The partitions that it is spread over. Units are those of one of them.
    pub shards: u32,
    /// Write units in a second.
    pub write_units: f64,
    /// Read units in a second.
    pub read_units: f64,
}

/// A number of shards to declare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// The table of the model file, such as `entity.comment.count.by_product`.
    pub table: String,
    /// The key in it.
    pub key: &'static str,
    /// How many there are.
    pub current: u32,
    /// How many there should be.
    pub proposed: u32,
}

impl Costs {
    fn new(units: Units, seconds: f64) -> Costs {
        let (read_units, write_units) = (units.read / seconds, units.write / seconds);
        let dollars_a_month = DYNAMODB_PRICES.dollars_a_month(read_units, write_units);
        Costs { write_units, read_units, dollars_a_month }
    }
}

pub(super) fn plan(tally: &Tally, request: &PlanRequest) -> Plan {
    let seconds = tally.seconds;
    let sum = tally.by_work.values().fold(Units::default(), |sum, units| Units {
        read: sum.read + units.read,
        write: sum.write + units.write,
    });
    let mut costs: Vec<CostOf> =
        tally.by_work.iter().map(|(work, units)| cost(*work, *units, tally, request)).collect();
    costs.retain(|cost| cost.costs.dollars_a_month > 0.0);
    costs.sort_by(|a, b| b.costs.dollars_a_month.total_cmp(&a.costs.dollars_a_month));
    Plan {
        sample_seconds: seconds,
        total: Costs::new(sum, seconds),
        costs,
        spaces: spaces(tally),
        ceilings: ceilings(tally, &request.workload, request.options),
        hot_reads: hot_reads(tally, request.options.headroom),
    }
}

fn cost(work: Work, units: Units, tally: &Tally, request: &PlanRequest) -> CostOf {
    let (model, workload) = (tally.layout.model(), &request.workload);
    let (work, per_second) = match work {
        Work::Write(entity) => {
            let writes = workload.writes.iter().find(|writes| writes.entity == entity);
            let rate = writes.map(|writes| writes.per_second());
            (format!("writes of {}", model.entity(entity).name), rate)
        }
        Work::Read(query) => {
            let rates = workload.reads.iter().filter(|reads| reads.query == query);
            (query.name(model), Some(rates.map(|reads| reads.per_second).sum()))
        }
        Work::Folding => ("folding of filters".to_owned(), None),
        Work::Settling => ("settling of scores".to_owned(), None),
    };
    CostOf { work, per_second, costs: Costs::new(units, tally.seconds) }
}

fn spaces(tally: &Tally) -> Vec<SpaceHeat> {
    let mut by_index: BTreeMap<Option<&str>, Vec<(&Place, &KeyUse)>> = BTreeMap::new();
    for (place, key) in &tally.keys {
        by_index.entry(place.index.as_deref()).or_default().push((place, key));
    }
    by_index.into_iter().map(|(index, keys)| space(index, &keys, tally)).collect()
}

fn space(index: Option<&str>, keys: &[(&Place, &KeyUse)], tally: &Tally) -> SpaceHeat {
    let sum = |of: fn(&Units) -> f64| {
        keys.iter().map(|(_, key)| of(&key.units)).sum::<f64>() / tally.seconds
    };
    let (write_units, read_units) = (sum(|units| units.write), sum(|units| units.read));
    let partitions = (write_units / PARTITION_WRITE_UNITS).max(read_units / PARTITION_READ_UNITS);
    let mut hot: Vec<HotKey> = keys
        .iter()
        .filter(|(_, key)| key.seen >= SEEN_MIN)
        .map(|(place, key)| hot_key(place, key, tally))
        .collect();
    let heat = |key: &HotKey| {
        (key.write_units / PARTITION_WRITE_UNITS).max(key.read_units / PARTITION_READ_UNITS)
    };
    hot.sort_by(|a, b| {
        heat(b).total_cmp(&heat(a)).then_with(|| (&a.part, &a.key).cmp(&(&b.part, &b.key)))
    });
    hot.truncate(KEYS_MAX);
    let partitions = partitions.ceil().max(1.0) as u64;
    SpaceHeat { index: index.map(str::to_owned), write_units, read_units, partitions, keys: hot }
}

fn hot_key(place: &Place, key: &KeyUse, tally: &Tally) -> HotKey {
    let seconds = tally.seconds * f64::from(place.shards);
    HotKey {
        index: place.index.clone(),
        part: key.part().name(tally.layout.model()),
        key: values(place),
        shards: place.shards,
        write_units: key.units.write / seconds,
        read_units: key.units.read / seconds,
    }
}

fn hot_reads(tally: &Tally, headroom: f64) -> Vec<HotKey> {
    let keys = tally.keys.iter().filter(|(_, key)| key.seen >= SEEN_MIN);
    let mut hot: Vec<HotKey> = keys
        .map(|(place, key)| hot_key(place, key, tally))
        .filter(|key| key.read_units > headroom * PARTITION_READ_UNITS)
        .collect();
    hot.sort_by(|a, b| b.read_units.total_cmp(&a.read_units));
    hot
}
