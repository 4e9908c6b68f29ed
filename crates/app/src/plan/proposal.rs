//! How many shards to declare so that the declared rates stay within the headroom of every ceiling.

use keyloom_model::Model;
use keyloom_model::workload::Shards;

use super::report::{Plan, Proposal};

/// The fewest shards there can be.
const SHARDS_MIN: u32 = 2;

/// Raises the numbers of shards that a plan needs more of. Returns whether there are any.
pub(super) fn raise(shards: &mut Vec<Shards>, plan: &Plan, model: &Model, headroom: f64) -> bool {
    let mut is_raised = false;
    for ceiling in &plan.ceilings {
        let Some(of) = ceiling.shards_of.filter(|_| !ceiling.writes.is_at_least) else { continue };
        if ceiling.used <= headroom {
            continue;
        }
        let known = shards.iter().find(|known| known.of == of).map(|known| known.count);
        let current = known.unwrap_or_else(|| of.count(model));
        let needed = (f64::from(ceiling.shards) * ceiling.used / headroom).ceil();
        // More than the type holds is more than the maximum.
        let count = (needed.min(f64::from(of.max())) as u32).max(SHARDS_MIN);
        if count <= current {
            continue;
        }
        is_raised = true;
        match shards.iter_mut().find(|known| known.of == of) {
            Some(known) => known.count = count,
            None => shards.push(Shards { of, count }),
        }
    }
    is_raised
}

/// The proposals as they are reported, in the order of the model.
pub(super) fn reports(shards: &[Shards], model: &Model) -> Vec<Proposal> {
    let mut sorted: Vec<&Shards> = shards.iter().collect();
    sorted.sort_by_key(|one| one.of);
    sorted.into_iter().map(|one| report(one, model)).collect()
}

fn report(shards: &Shards, model: &Model) -> Proposal {
    let (tables, key) = shards.of.path(model);
    let (table, current) = (tables.join("."), shards.of.count(model));
    Proposal { table, key, current, proposed: shards.count }
}
