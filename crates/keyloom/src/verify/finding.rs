//! What a verification finds, as data and as messages.

use std::fmt;

use crate::error::sentence;

/// An invalid row.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, Item, Problem, Remedy, Repair, Value};
/// # use keyloom_store::{MemoryStore, Put, Store, SystemClock, TableName};
/// # let model = "[entity.task]\nfields.name = \"text\"";
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// # let db = Db::open(model, store.clone()).await?;
/// // A row that no entity implies.
/// let row = Item::from([("PK", Value::B(vec![1])), ("SK", Value::B(vec![1]))]);
/// store.put(Put::new(&TableName::new("keyloom")?, row)).await?;
/// let findings = db.verify(Repair::Yes, |_| {}).await?;
/// assert!(matches!(findings[0].problem, Problem::Stray { .. }));
/// assert_eq!(findings[0].remedy, Remedy::Repaired);
/// println!("{}", findings[0]);
/// assert!(db.verify(Repair::No, |_| {}).await?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of the entity that it belongs to; empty if it belongs to none.
    pub entity: String,
    /// The id of the entity.
    pub id: String,
    /// What is wrong.
    pub problem: Problem,
    /// Whether it was repaired.
    pub remedy: Remedy,
}

/// What is wrong with a row.
///
/// [`Finding`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The entity's own row cannot be read.
    Unreadable {
        /// Why.
        reason: String,
    },
    /// The values of the entity's fields break rules of the model.
    WrongFields {
        /// All violations.
        reasons: Vec<String>,
    },
    /// The entity's index keys do not match its fields.
    WrongPlaces {
        /// The lists, or `expires`; none if the row only has unexpected attributes.
        lists: Vec<String>,
    },
    /// The row has the tombstone of a deletion that has ended.
    StaleTombstone,
    /// The guard of a unique value is missing or wrong.
    GuardMissing {
        /// The unique.
        unique: String,
    },
    /// Another entity has the same unique value.
    NotUnique {
        /// The unique.
        unique: String,
        /// The id of the other entity.
        other: String,
    },
    /// The link between the entity and a target of its references is missing or wrong.
    LinkMissing {
        /// The referring field.
        field: String,
    },
    /// A row is missing or wrong which says that the entity may be referred to.
    PresenceMissing {
        /// Its key.
        presence: String,
    },
    /// The entity has no ordinal, and needs one.
    NumberMissing,
    /// Another entity has the same ordinal.
    NumberTaken {
        /// The id of the other entity.
        other: String,
    },
    /// The sequence of the entity's kind would assign the entity's number again.
    SequenceBehind {
        /// The number.
        number: i64,
    },
    /// The entity is missing from a posting list.
    GroupMissing {
        /// The name of the posting list.
        group: String,
    },
    /// A posting list contains an ordinal that does not belong there.
    GroupWrong {
        /// The name of the posting list.
        group: String,
        /// The ordinal.
        number: u64,
    },
    /// A counter of a count or a board is not the sum of what entities add to it.
    WrongNumber {
        /// The key of its row.
        row: String,
        /// The sum.
        expected: i64,
        /// The value of the counter, if it has one.
        found: Option<i64>,
    },
    /// Something that could not be verified. Nothing is known to be wrong.
    Unchecked {
        /// What.
        what: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The entity refers to an entity that does not exist.
    Dangling {
        /// The referring field.
        field: String,
        /// The id of the missing entity.
        target: String,
    },
    /// A guard or link that its entity does not imply.
    LeftOver {
        /// The key of the row.
        row: String,
    },
    /// A row that nothing in the model implies.
    Stray {
        /// The key of the row.
        row: String,
    },
}

/// Whether a finding was repaired.
///
/// [`Finding`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// No: repair was not requested.
    NotRequested,
    /// Yes.
    Repaired,
    /// No: data is missing or contradictory, so a person must decide.
    Unrepairable,
    /// No: the row has changed meanwhile. Verify again.
    Changed,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.entity.is_empty() {
            write!(f, "`{}` `{}`: ", self.entity, self.id)?;
        }
        self.problem.fmt(f)?;
        if let Problem::Unchecked { .. } = self.problem {
            return Ok(());
        }
        match self.remedy {
            Remedy::NotRequested => Ok(()),
            Remedy::Repaired => write!(f, " Repaired."),
            Remedy::Unrepairable => write!(f, " Not repaired: {}", self.problem.advice()),
            Remedy::Changed => write!(f, " Not repaired: it has changed meanwhile. Verify again."),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unreadable { reason } => write!(f, "invalid row: {reason}."),
            Problem::WrongFields { reasons } => {
                write!(f, "invalid fields:")?;
                reasons.iter().try_for_each(|reason| write!(f, " {}", sentence(reason)))
            }
            Problem::WrongPlaces { lists } if lists.is_empty() => {
                write!(f, "its row has unexpected attributes.")
            }
            Problem::WrongPlaces { lists } => {
                write!(f, "its index keys are wrong or missing in `{}`.", lists.join("`, `"))
            }
            Problem::StaleTombstone => {
                write!(f, "it has the tombstone of a deletion that has ended.")
            }
            Problem::GuardMissing { unique } => write!(
                f,
                "the guard of its unique `{unique}` is missing or wrong, so another entity could take \
                 the same value."
            ),
            Problem::NotUnique { unique, other } => {
                write!(f, "`{other}` has the same value of the unique `{unique}`.")
            }
            Problem::LinkMissing { field } => {
                write!(f, "the link to the target of its `{field}` is missing or wrong.")
            }
            Problem::PresenceMissing { presence } => {
                write!(f, "the row {presence}, by which others refer to it, is missing or wrong.")
            }
            Problem::NumberMissing => write!(f, "it has no ordinal, so filters do not find it."),
            Problem::NumberTaken { other } => write!(f, "`{other}` has the same ordinal."),
            Problem::SequenceBehind { number } => {
                write!(f, "its number {number} is beyond the last one of its sequence.")
            }
            Problem::GroupMissing { group } => {
                write!(f, "it is missing from the posting list {group}.")
            }
            Problem::GroupWrong { group, number } => {
                write!(f, "The posting list {group} has an unexpected ordinal {number}.")
            }
            Problem::WrongNumber { row, expected, found } => match found {
                Some(found) if found == expected => {
                    write!(
                        f,
                        "The counter {row} has wrong sums, a wrong index key or unexpected attributes."
                    )
                }
                Some(found) => {
                    write!(f, "The counter {row} is {found}, and should be {expected}.")
                }
                None => {
                    write!(f, "The counter {row} has no value, and should be {expected}.")
                }
            },
            Problem::Unchecked { what, reason } => {
                write!(f, "Not checked: {what}. {}", sentence(reason))
            }
            Problem::Dangling { field, target } => {
                write!(f, "`{field}` refers to `{target}`, which does not exist.")
            }
            Problem::LeftOver { row } => {
                write!(f, "unexpected row {row}.")
            }
            Problem::Stray { row } => write!(f, "Unknown row {row}."),
        }
    }
}

impl Problem {
    fn advice(&self) -> &'static str {
        match self {
            Problem::Unreadable { .. } => "restore the entity from a backup, or remove its row.",
            Problem::WrongFields { .. } => "replace the entity with values that the model allows.",
            Problem::NotUnique { .. } => "change or delete one of the two.",
            Problem::Dangling { .. } => "create what it refers to, or change the reference.",
            Problem::WrongPlaces { .. }
            | Problem::StaleTombstone
            | Problem::GuardMissing { .. }
            | Problem::LinkMissing { .. }
            | Problem::PresenceMissing { .. }
            | Problem::NumberMissing
            | Problem::NumberTaken { .. }
            | Problem::SequenceBehind { .. }
            | Problem::GroupMissing { .. }
            | Problem::GroupWrong { .. }
            | Problem::WrongNumber { .. }
            | Problem::Unchecked { .. }
            | Problem::LeftOver { .. }
            | Problem::Stray { .. } => "verify again, and check the other findings.",
        }
    }
}
