//! Checks whether existing data fits a new model, before the model is changed. Only reads.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use keyloom_model::{EntityId, OwnRow, Reason, Refusal};
use keyloom_query::Reader;
use keyloom_store::{Scan, Store, TableName};

use super::{Layouts, Pending};
use crate::error::Error;

/// Fails if the values of an entity do not fit into the keys of the new layout, if two entities have
/// the same value of a new unique, or if an entity breaks a rule that is stricter now. Holds the
/// values of new uniques in memory.
pub(crate) async fn precheck(
    store: &dyn Store,
    table: &TableName,
    layouts: &Layouts,
    pending: &Pending,
    tightened: &BTreeSet<EntityId>,
) -> Result<(), Error> {
    let layout = &layouts.current;
    let reader = Reader { store, table, layout, now_ms: layouts.since_ms, noted: None };
    let mut guards: HashMap<Vec<u8>, String> = HashMap::new();
    let mut misfits = Misfits { layouts, found: BTreeMap::new() };
    let mut scan = Scan::new(table);
    loop {
        let page = store.scan(scan.clone()).await?;
        for row in &page.items {
            let Ok(own) = layout.read_own(row) else { continue };
            let key = own.image.key.clone();
            // A deletion that was applied has not removed it yet.
            let is_taken = own.deletion.is_some() && reader.seen(own.clone()).await?.is_none();
            // Entities that readers do not see give way.
            let gives_way = is_taken || reader.has_expired(&own);
            if tightened.contains(&key.entity) && !is_taken {
                misfits.check(&own);
            }
            let image = layouts.upgraded(own);
            layout.counters().of(&image)?;
            for row in layout.rows(&image)? {
                let Reason::Guard(unique) = row.reason else { continue };
                if gives_way || !pending.has_unique(layout, key.entity, unique) {
                    continue;
                }
                let guard = row.key.partition.into_vec();
                if let Some(owner) = guards.insert(guard, key.id.clone()) {
                    let mut other = key.clone();
                    other.id = owner;
                    return Err(layouts.taken(key.entity, unique, Some(&other)).of(&key));
                }
            }
        }
        match page.last_key {
            None => return misfits.into_result(),
            start => scan.start = start,
        }
    }
}

/// Entities that break a rule of the new model.
struct Misfits<'l> {
    layouts: &'l Layouts,
    /// The first of each kind, with what is wrong with it, and how many there are.
    found: BTreeMap<EntityId, Misfit>,
}

struct Misfit {
    id: String,
    reasons: Vec<String>,
    count: u64,
}

impl Misfits<'_> {
    fn check(&mut self, own: &OwnRow) {
        let key = &own.image.key;
        let entity = self.layouts.current.model().entity(key.entity);
        let unconverted = self.layouts.unconverted(own.clone()).into_iter();
        let mut reasons: Vec<String> = unconverted
            .map(|field| format!("the value of `{field}` cannot be converted without loss"))
            .collect();
        // Without a value that cannot be converted, other rules say nothing new.
        let image = self.layouts.upgraded(own.clone());
        let errors = entity.check_fields(&image.fields).err().filter(|_| reasons.is_empty());
        reasons.extend(errors.iter().flatten().map(ToString::to_string));
        if reasons.is_empty() {
            return;
        }
        let first = || Misfit { id: key.id.clone(), reasons, count: 0 };
        self.found.entry(key.entity).or_insert_with(first).count += 1;
    }

    fn into_result(self) -> Result<(), Error> {
        if self.found.is_empty() {
            return Ok(());
        }
        let model = self.layouts.current.model();
        let refusals = self.found.iter().flat_map(|(entity, misfit)| {
            let Misfit { id, reasons, count } = misfit;
            let reasons = reasons.iter();
            reasons.map(move |what| Refusal::of_stored(model.entity(*entity), id, what, count - 1))
        });
        Err(Error::Evolution(refusals.collect()))
    }
}
