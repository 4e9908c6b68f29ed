//! What a verification finds, in words.

use std::fmt;

use crate::error::sentence;

/// A row that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of the entity that it is about; empty if it is about none.
    pub entity: String,
    /// The id of the entity.
    pub id: String,
    /// What is wrong.
    pub problem: Problem,
    /// What was done about it.
    pub remedy: Remedy,
}

/// What is wrong with a row.
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
        /// Every rule that they break.
        reasons: Vec<String>,
    },
    /// The entity's places in lists are not those that its fields say.
    WrongPlaces {
        /// The lists, or `expires`; none if the row only has attributes that nothing implies.
        lists: Vec<String>,
    },
    /// A deletion that is not there any more has left its mark.
    LeftMark,
    /// The guard of a unique value is missing, or says something else.
    GuardMissing {
        /// The unique.
        unique: String,
    },
    /// Another entity has the same unique value.
    NotUnique {
        /// The unique.
        unique: String,
        /// The id of the other one.
        other: String,
    },
    /// The row that stands with what the entity refers to is missing, or says something else.
    LinkMissing {
        /// The field that refers.
        field: String,
    },
    /// The entity should have a number, and has none.
    NumberMissing,
    /// Another entity has the same number.
    NumberTaken {
        /// The id of the other one.
        other: String,
    },
    /// The entity is not in a list that it is looked for in, by a tag, a facet, or at all.
    GroupMissing {
        /// The name of the list.
        group: String,
    },
    /// A list that entities are looked for in has a number that does not belong there.
    GroupWrong {
        /// The name of the list.
        group: String,
        /// The number.
        number: u64,
    },
    /// A number of a count or a board is not what the entities add up to.
    WrongNumber {
        /// The key of its row.
        row: String,
        /// What they add up to.
        expected: i64,
        /// What the row says, if it says a number.
        found: Option<i64>,
    },
    /// The entity refers to one that is not there.
    Dangling {
        /// The field that refers.
        field: String,
        /// The id of what is not there.
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

/// What was done about a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing: it was only looked for.
    NotAsked,
    /// It was mended.
    Mended,
    /// It cannot be mended without a person: data is missing or contradicts itself.
    NeedsPerson,
    /// It was changed by others meanwhile: look again.
    Changed,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.entity.is_empty() {
            write!(f, "`{}` `{}`: ", self.entity, self.id)?;
        }
        self.problem.fmt(f)?;
        match self.remedy {
            Remedy::NotAsked => Ok(()),
            Remedy::Mended => write!(f, " Mended."),
            Remedy::NeedsPerson => write!(f, " This needs a person: {}", self.problem.advice()),
            Remedy::Changed => write!(f, " It was changed meanwhile: verify again."),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unreadable { reason } => write!(f, "its row cannot be read: {reason}."),
            Problem::WrongFields { reasons } => {
                write!(f, "its fields break rules of the model:")?;
                reasons.iter().try_for_each(|reason| write!(f, " {}", sentence(reason)))
            }
            Problem::WrongPlaces { lists } if lists.is_empty() => {
                write!(f, "its row has attributes that nothing implies.")
            }
            Problem::WrongPlaces { lists } => {
                write!(f, "it has the wrong place, or none, in `{}`.", lists.join("`, `"))
            }
            Problem::LeftMark => {
                write!(f, "a deletion that is not there any more has left its mark.")
            }
            Problem::GuardMissing { unique } => write!(
                f,
                "the guard of its unique `{unique}` is missing or wrong, so another could take the \
                 same value."
            ),
            Problem::NotUnique { unique, other } => {
                write!(f, "`{other}` has the same value of the unique `{unique}`.")
            }
            Problem::LinkMissing { field } => write!(
                f,
                "the row that links it to what its `{field}` refers to is missing or wrong."
            ),
            Problem::NumberMissing => write!(f, "it has no number, so no tag or facet finds it."),
            Problem::NumberTaken { other } => write!(f, "`{other}` has the same number."),
            Problem::GroupMissing { group } => write!(f, "it is missing in the list {group}."),
            Problem::GroupWrong { group, number } => {
                write!(f, "The list {group} has the number {number}, which does not belong there.")
            }
            Problem::WrongNumber { row, expected, found } => match found {
                Some(found) if found == expected => {
                    write!(f, "The row {row} has a wrong place, or what nothing implies.")
                }
                Some(found) => {
                    write!(f, "The row {row} says {found}, and the entities add up to {expected}.")
                }
                None => {
                    write!(f, "The row {row} says nothing, and the entities add up to {expected}.")
                }
            },
            Problem::Dangling { field, target } => {
                write!(f, "`{field}` refers to `{target}`, which is not there.")
            }
            Problem::LeftOver { row } => {
                write!(f, "the row {row} is of it, but it does not imply such a row.")
            }
            Problem::Stray { row } => write!(f, "The row {row} is nothing that the model knows."),
        }
    }
}

impl Problem {
    fn advice(&self) -> &'static str {
        match self {
            Problem::Unreadable { .. } => "restore the entity from a backup, or remove its row.",
            Problem::WrongFields { .. } => "put the entity with values that the model allows.",
            Problem::NotUnique { .. } => "change or delete one of the two.",
            Problem::Dangling { .. } => "create what it refers to, or change the reference.",
            Problem::WrongPlaces { .. }
            | Problem::LeftMark
            | Problem::GuardMissing { .. }
            | Problem::LinkMissing { .. }
            | Problem::NumberMissing
            | Problem::NumberTaken { .. }
            | Problem::GroupMissing { .. }
            | Problem::GroupWrong { .. }
            | Problem::WrongNumber { .. }
            | Problem::LeftOver { .. }
            | Problem::Stray { .. } => "verify again, and look at what else was found.",
        }
    }
}
