//! Checks whether existing data fits a new model, before the model is changed. Only reads.

use std::collections::{BTreeSet, HashMap};

use keyloom_model::{EntityId, Image, Layout, Reason, Refusal};
use keyloom_query::Reader;
use keyloom_store::{Scan, Store, TableName};

use super::{Layouts, Pending};
use crate::error::Error;

/// Fails if the values of an entity do not fit into the keys of the new layout, if two entities have
/// the same value of a new unique, or if an entity breaks a rule that is stricter now. Holds the
/// values of new uniques in memory.
pub(crate) async fn precheck(
    (store, table): (&dyn Store, &TableName),
    layouts: &Layouts,
    (pending, tightened): (&Pending, &BTreeSet<EntityId>),
) -> Result<(), Error> {
    let layout = &layouts.current;
    let reader = Reader { store, table, layout, now_ms: layouts.since_ms };
    let mut guards: HashMap<Vec<u8>, String> = HashMap::new();
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
            let image = layouts.upgraded(own);
            if tightened.contains(&key.entity) && !is_taken {
                check_fields(layout, &image)?;
            }
            layout.counters().of(&image)?;
            for row in layout.rows(&image)? {
                let Reason::Guard(unique) = row.reason else { continue };
                if gives_way || !pending.has_unique(layout, (key.entity, unique)) {
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
            None => return Ok(()),
            start => scan.start = start,
        }
    }
}

/// Fails if an entity breaks a rule of the new model, and names the entity.
fn check_fields(layout: &Layout, image: &Image) -> Result<(), Error> {
    let entity = layout.model().entity(image.key.entity);
    let Err(errors) = entity.check_fields(&image.fields) else { return Ok(()) };
    let refusal = |error| Refusal::of_stored(entity, &image.key.id, error);
    Err(Error::Evolution(errors.iter().map(refusal).collect()))
}
