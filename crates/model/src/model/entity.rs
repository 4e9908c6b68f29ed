//! Entities and everything declared on them.

use std::collections::BTreeSet;

use keyloom_value::{Item, Value};

use super::access::Access;
use super::board::Board;
use super::count::Count;
use super::field::{Field, FieldOrigin, FieldType};
use super::format::{Format, FormatChoice, FormatRule};
use super::id::{BoardId, CountId, EntityId, FieldId, ListId, UniqueId};
use super::list::List;
use super::pattern::{self, PatternRule};
use super::pattern_text;
use super::search::Search;
use super::sequence::Sequence;
use super::tags::TagCombination;
use super::transition::{InitialRule, TransitionRule};
use super::unique::Unique;

/// A kind of entity.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entity {
    /// Its name in the model.
    pub name: String,
    /// Its name in keys, which is the first one that it had.
    pub stored: String,
    /// Where it is served.
    pub path: String,
    /// Where its ids come from.
    pub id_source: IdSource,
    /// The reference to the parent, if it is a child.
    pub parent: Option<FieldId>,
    /// Which tenant it belongs to.
    pub tenancy: Tenancy,
    /// The field with the time at which it expires.
    pub expires: Option<FieldId>,
    /// The field with the time of the last change, which no caller sets.
    pub updated: Option<FieldId>,
    /// The number that each gets when it is created.
    pub sequence: Option<Sequence>,
    /// Who may do what with it.
    pub access: Access,
    /// The number of partitions that all entities of this kind, and tenant, are spread over.
    pub shards: u32,
    /// The number of partitions that the references to each entity are spread over.
    pub reference_shards: u32,
    /// First `id`, then the parent if it has one, then the declared fields in their order.
    pub fields: Vec<Field>,
    /// The fields by which every list can be filtered, by range or by presence.
    pub filters: Vec<FieldId>,
    /// The texts whose words every list can be filtered by.
    pub searches: Vec<Search>,
    /// The formats of text fields.
    pub formats: Vec<FormatRule>,
    /// The patterns of text fields.
    pub(crate) patterns: Vec<PatternRule>,
    /// The values that enum fields can have in new entities.
    pub(crate) initials: Vec<InitialRule>,
    /// How the values of enum fields may change.
    pub(crate) transitions: Vec<TransitionRule>,
    /// The unique constraints.
    pub uniques: Vec<Unique>,
    /// The ordered lists.
    pub lists: Vec<List>,
    /// The counts.
    pub counts: Vec<Count>,
    /// The leaderboards.
    pub boards: Vec<Board>,
    /// The tag keys that are looked up together.
    pub combinations: Vec<TagCombination>,
    /// What became of fields of earlier models.
    pub(crate) moves: Moves,
    /// Names in rows that fields had which no longer exist. No other field gets one of them, because
    /// rows and events from before may still have it.
    pub(crate) retired: BTreeSet<String>,
}

/// What became of fields of earlier models, as the model declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    /// The earlier names of fields.
    pub(crate) renamed: Vec<(FieldId, String)>,
    /// Fields that were removed with their values.
    pub(crate) removed: BTreeSet<String>,
}

impl Entity {
    /// Maximum length of a text with a pattern, in characters.
    pub const PATTERN_TEXT_MAX: usize = pattern::TEXT_MAX;

    /// The field with this id, which must come from this entity.
    pub fn field(&self, id: FieldId) -> &Field {
        &self.fields[id.index()]
    }

    /// The fields with these ids, which must come from this entity.
    pub(crate) fn select<'m>(&'m self, ids: &'m [FieldId]) -> impl Iterator<Item = &'m Field> {
        ids.iter().map(|id| self.field(*id))
    }

    /// The field of this name.
    pub fn find_field(&self, name: &str) -> Option<FieldId> {
        let index = self.fields.iter().position(|field| field.name == name)?;
        FieldId::from_index(index)
    }

    /// The field that rows have under this name.
    pub fn find_stored(&self, stored: &str) -> Option<FieldId> {
        let index = self.fields.iter().position(|field| field.stored == stored)?;
        FieldId::from_index(index)
    }

    /// The earlier name of a field, if the model declares one.
    pub(crate) fn earlier_name(&self, field: FieldId) -> Option<&str> {
        let renamed = self.moves.renamed.iter().find(|(id, _)| *id == field);
        renamed.map(|(_, name)| name.as_str())
    }

    /// The field of an earlier model that a field was: the one of its name, or of its earlier name. The
    /// reference to the parent has the name of the parent.
    pub fn counterpart(&self, field: FieldId, earlier: &Entity) -> Option<FieldId> {
        if self.parent == Some(field) && earlier.parent.is_some() {
            return earlier.parent;
        }
        earlier.find_field(&self.field(field).name).or_else(|| {
            let id = earlier.find_field(self.earlier_name(field)?)?;
            (earlier.field(id).origin == FieldOrigin::Declared).then_some(id)
        })
    }

    /// Whether rows may have attributes that are not named as the fields are.
    pub fn has_other_names(&self) -> bool {
        !self.retired.is_empty() || self.fields.iter().any(|field| field.stored != field.name)
    }

    /// Whether it belongs to a tenant.
    pub fn has_tenant(&self) -> bool {
        match self.tenancy {
            Tenancy::Shared => false,
            Tenancy::Own(_) | Tenancy::Inherited(_) => true,
        }
    }

    /// Whether a field of this entity holds its owner.
    pub fn is_owner(&self, field: &Field) -> bool {
        self.access.owner.is_some_and(|owner| self.field(owner).name == field.name)
    }

    /// All fields with their ids.
    pub fn fields(&self) -> impl Iterator<Item = (FieldId, &Field)> {
        self.fields.iter().zip(0..).map(|(field, index)| (FieldId(index), field))
    }

    /// The fields that a document can set: all but `id`.
    pub(crate) fn settable_fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| match field.origin {
            FieldOrigin::Id => false,
            FieldOrigin::Parent | FieldOrigin::Declared => true,
        })
    }

    /// The format rule of a field.
    pub fn format_rule(&self, field: FieldId) -> Option<&FormatRule> {
        self.formats.iter().find(|rule| rule.field == field)
    }

    /// The regular expression that the texts of a field must match, with anchors.
    pub fn pattern(&self, field: FieldId) -> Option<String> {
        let rule = self.patterns.iter().find(|rule| rule.field == field)?;
        Some(rule.pattern.anchored())
    }

    /// A text that matches the pattern of a field and has its length: `choose` picks one of so many
    /// possibilities, again and again. `None` if it has no pattern, or no such text is found.
    pub fn pattern_text(
        &self,
        field: FieldId,
        choose: impl FnMut(usize) -> usize,
    ) -> Option<String> {
        let rule = self.patterns.iter().find(|rule| rule.field == field)?;
        let FieldType::Text(limits) = &self.field(field).of else { return None };
        pattern_text::text_of(&rule.pattern, limits, choose)
    }

    /// The members of an enum field that new entities can have, if that is restricted.
    pub fn initial(&self, field: FieldId) -> Option<&[String]> {
        let rule = self.initials.iter().find(|rule| rule.field == field)?;
        Some(&rule.members)
    }

    /// The members that the value of an enum field can become, if that is restricted.
    pub fn next_members(&self, field: FieldId, value: &str) -> Option<&[String]> {
        self.transition_rule(field).map(|rule| rule.from(value))
    }

    /// The members of an enum field that each member can become, if that is restricted.
    pub fn transitions(&self, field: FieldId) -> Option<&[(String, Vec<String>)]> {
        self.transition_rule(field).map(|rule| rule.allowed.as_slice())
    }

    fn transition_rule(&self, field: FieldId) -> Option<&TransitionRule> {
        self.transitions.iter().find(|rule| rule.field == field)
    }

    /// The format that a rule requires of an entity with these fields, in stored form.
    pub fn required_format(&self, rule: &FormatRule, fields: &Item) -> Option<Format> {
        match &rule.choice {
            FormatChoice::Always(format) => Some(*format),
            FormatChoice::By(field, formats) => {
                let member = fields.get(&self.field(*field).name).and_then(Value::as_s)?;
                formats.iter().find(|(of, _)| of == member).map(|(_, format)| *format)
            }
        }
    }

    /// The fields that are lists of references, and the entity each refers to.
    pub fn reference_lists(&self) -> impl Iterator<Item = (FieldId, EntityId)> {
        self.fields().filter_map(|(id, field)| match &field.of {
            FieldType::List(of, _) => match **of {
                FieldType::Ref(target, _) => Some((id, target)),
                _ => None,
            },
            _ => None,
        })
    }

    /// All lists with their ids.
    pub fn lists(&self) -> impl Iterator<Item = (ListId, &List)> {
        self.lists.iter().zip(0..).map(|(list, index)| (ListId(index), list))
    }

    /// The list with this id, which must come from this entity.
    pub fn list(&self, id: ListId) -> &List {
        &self.lists[id.index()]
    }

    /// The list of this name.
    pub fn find_list(&self, name: &str) -> Option<ListId> {
        let index = self.lists.iter().position(|list| list.name == name)?;
        u16::try_from(index).ok().map(ListId)
    }

    /// All counts with their ids.
    pub fn counts(&self) -> impl Iterator<Item = (CountId, &Count)> {
        self.counts.iter().zip(0..).map(|(count, index)| (CountId(index), count))
    }

    /// The count with this id, which must come from this entity.
    pub fn count(&self, id: CountId) -> &Count {
        &self.counts[id.index()]
    }

    /// The count of this name.
    pub fn find_count(&self, name: &str) -> Option<CountId> {
        self.counts().find(|(_, count)| count.name == name).map(|(id, _)| id)
    }

    /// All boards with their ids.
    pub fn boards(&self) -> impl Iterator<Item = (BoardId, &Board)> {
        self.boards.iter().zip(0..).map(|(board, index)| (BoardId(index), board))
    }

    /// The board with this id, which must come from this entity.
    pub fn board(&self, id: BoardId) -> &Board {
        &self.boards[id.index()]
    }

    /// The unique with this id, which must come from this entity.
    pub fn unique(&self, id: UniqueId) -> &Unique {
        &self.uniques[id.index()]
    }

    /// All uniques with their ids.
    pub fn uniques(&self) -> impl Iterator<Item = (UniqueId, &Unique)> {
        self.uniques.iter().zip(0..).map(|(unique, index)| (UniqueId(index), unique))
    }
}

/// Where the ids of an entity come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdSource {
    /// Keyloom generates them, in order of creation.
    Generated,
    /// The caller chooses them.
    Given,
}

/// Which tenant an entity belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tenancy {
    /// None: all tenants share it.
    Shared,
    /// The tenant in this field.
    Own(FieldId),
    /// The tenant of this ancestor, which has the field.
    Inherited(EntityId),
}
