//! What a database begins with: its model, the slots of its lists, and the secret of its cursors.

use keyloom_model::StoredNames;
use keyloom_value::{Item, Number, Value};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::schema::{Fingerprint, Head, Pending, Position, Revision, Stored, zones};

const REVISION: &str = "revision";
const EDIT: &str = "edit";
const EPOCH: &str = "epoch";
const FORMER: &str = "former";
const SECRET: &str = "secret";
const TEXT: &str = "text";
const SLOTS: &str = "slots";
const SINCE: &str = "since";
const ZONES: &str = "zones";
const NAMES: &str = "names";

/// The model of a database, the slots of its lists, and the secret of its cursors.
///
/// The [module](crate::copy) has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    pub(super) head: Head,
    pub(super) revision: Revision,
}

impl Heading {
    /// The heading of stored models.
    ///
    /// # Errors
    ///
    /// If rows are being rebuilt for a new model: not all entities are in its terms yet.
    pub(super) fn of(stored: &Stored) -> Result<Heading, Error> {
        let current = stored.current();
        let revision = current
            .ok_or_else(|| Error::damaged("The current model is missing from the table."))?;
        if !revision.pending.is_empty() || stored.head.is_switching() {
            let reason = "The source is still being rebuilt for a change of its model: serve it until \
                          that is done (`keyloom status` reports it), then copy.";
            return Err(Error::Copy { reason: reason.to_owned() });
        }
        // In the target, no write of an earlier epoch can be on its way.
        let head = Head { fenced: stored.head.epoch, ..stored.head.clone() };
        let revision = Revision {
            matching: None,
            // Fields have their present names in portable rows; keys are as they were.
            names: revision.names.of_entities(),
            progress: Position::default(),
            ..revision.clone()
        };
        Ok(Heading { head, revision })
    }

    /// The text of the model.
    pub fn model(&self) -> &str {
        &self.revision.text
    }

    /// Identifies the database, across copies of it.
    pub fn database(&self) -> String {
        let hash = Sha256::digest(self.head.secret);
        hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The heading as an item.
    pub fn to_item(&self) -> Item {
        let former = self.head.former.iter().map(|model| model.to_value()).collect();
        let mut item = Item::from([
            (REVISION, Value::from(u64::from(self.head.revision))),
            (EDIT, Value::from(u64::from(self.head.edit))),
            (EPOCH, Value::from(u64::from(self.head.epoch))),
            (FORMER, Value::L(former)),
            (SECRET, Value::B(self.head.secret.to_vec())),
            (TEXT, Value::from(self.revision.text.as_str())),
            (SLOTS, Value::M(self.revision.slots.clone())),
            (SINCE, Value::from(self.revision.since_ms)),
        ]);
        if let Some(rules) = zones::to_value(&self.revision.zones) {
            item.insert(ZONES, rules);
        }
        if !self.revision.names.is_empty() {
            item.insert(NAMES, Value::L(self.revision.names.to_values()));
        }
        item
    }

    /// Reads an item that [`Heading::to_item`] has made; none if it is damaged.
    pub fn read(item: &Item) -> Option<Heading> {
        let number = |name| {
            let number = item.get(name)?.as_n().and_then(Number::to_i64)?;
            u32::try_from(number).ok()
        };
        let (Value::L(former), Value::M(slots)) = (item.get(FORMER)?, item.get(SLOTS)?) else {
            return None;
        };
        let names = match item.get(NAMES) {
            None => StoredNames::default(),
            Some(Value::L(names)) => StoredNames::read(names)?,
            Some(_) => return None,
        };
        let epoch = number(EPOCH)?;
        let head = Head {
            revision: number(REVISION)?,
            edit: number(EDIT)?,
            epoch,
            fenced: epoch,
            former: former.iter().map(Fingerprint::read).collect::<Option<_>>()?,
            secret: item.get(SECRET)?.as_b()?.try_into().ok()?,
        };
        let revision = Revision {
            text: item.get(TEXT)?.as_s()?.to_owned(),
            slots: slots.clone(),
            matching: None,
            zones: zones::read(item.get(ZONES))?,
            names,
            since_ms: item.get(SINCE)?.as_n().and_then(Number::to_i64)?,
            pending: Pending::default(),
            progress: Position::default(),
        };
        Some(Heading { head, revision })
    }
}
