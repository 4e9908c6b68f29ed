//! A model file as data. It is not validated: an edit may make a draft invalid.

use keyloom_model::{
    CaseMode, Direction, Format, IdSource, Limits, Model, OnDelete, Presence, TriggeringChange,
    render,
};
use keyloom_value::Number;

/// A model file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// In the order of the file.
    pub entities: Vec<DraftEntity>,
    /// In the order of the file.
    pub handlers: Vec<DraftHandler>,
    /// Entities with their earlier names.
    pub renamed: Vec<(String, String)>,
}

/// `[entity.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftEntity {
    /// Its name.
    pub name: String,
    /// Its path, if it is declared.
    pub path: Option<String>,
    /// How ids are assigned.
    pub id_source: IdSource,
    /// Its parent, if it is a child.
    pub parent: Option<DraftParent>,
    /// The field that holds the tenant.
    pub tenant: Option<String>,
    /// The field that holds the time of expiry.
    pub expires: Option<String>,
    /// Number of partitions that all its entities are spread over; 1 is omitted.
    pub shards: u32,
    /// The fields that clients cannot set.
    pub read_only: Vec<String>,
    /// The fields by which every list can be filtered.
    pub filters: Vec<String>,
    /// The texts whose words every list can be filtered by, with the search `words`.
    pub searched: Vec<String>,
    /// The declared fields.
    pub fields: Vec<DraftField>,
    /// The formats of texts.
    pub formats: Vec<DraftFormat>,
    /// The unique constraints.
    pub uniques: Vec<DraftUnique>,
    /// The lists.
    pub lists: Vec<DraftList>,
    /// The counts.
    pub counts: Vec<DraftCount>,
    /// The boards.
    pub boards: Vec<DraftBoard>,
    /// The combinations of tags.
    pub combinations: Vec<DraftCombination>,
    /// Its sequence, in a field of its own that no edit changes.
    pub sequence: DraftSequence,
    /// Fields with their earlier names.
    pub renamed: Vec<(String, String)>,
    /// Fields that were removed with their values.
    pub removed: Vec<String>,
}

/// `sequence.serial`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DraftSequence {
    /// It has none.
    None,
    /// One for all, or for each tenant.
    All,
    /// One for each parent, if it is a child.
    ByParent,
}

/// `parent` and `on_parent_delete`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftParent {
    /// The parent's name.
    pub entity: String,
    /// Refuse or cascade.
    pub on_delete: OnDelete,
}

/// `fields.NAME = "..."`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub of: DraftType,
    /// Whether it may be absent.
    pub presence: Presence,
    /// The text after `=`.
    pub default: Option<String>,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftType {
    /// `text`.
    Text(Limits<u64>),
    /// `int`.
    Int(Limits<i64>),
    /// `number`.
    Number(Limits<Number>),
    /// `bool`.
    Bool,
    /// `time`.
    Time,
    /// `bytes`.
    Bytes(Limits<u64>),
    /// `any`.
    Any,
    /// `tags`.
    Tags,
    /// `enum(...)`.
    Enum(Vec<String>),
    /// `ref ENTITY RULE`.
    Ref(String, OnDelete),
    /// `list of ...`; the element has no limits.
    List(Box<DraftType>, Limits<u64>),
    /// `map of ...`; the element has no limits.
    Map(Box<DraftType>, Limits<u64>),
}

/// `format.FIELD = ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftFormat {
    /// The text field.
    pub field: String,
    /// The enum field that it depends on, if any, and the format for each member.
    pub by: Option<(String, Vec<(String, Format)>)>,
    /// The format if it depends on nothing.
    pub format: Format,
}

/// One entry of `unique`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftUnique {
    /// The fields that together are unique.
    pub fields: Vec<String>,
    /// The field within whose values they are unique.
    pub within: Option<String>,
    /// Whether case matters.
    pub case: CaseMode,
}

/// `[entity.NAME.list.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftList {
    /// Its name.
    pub name: String,
    /// Its path, if it is declared.
    pub path: Option<String>,
    /// One list for each combination of these.
    pub by: Vec<String>,
    /// The sort order.
    pub order: Vec<(String, Direction)>,
    /// `where`.
    pub filter: Vec<DraftTest>,
    /// The fields that can narrow it.
    pub facets: Vec<String>,
    /// Number of partitions it is spread over; omitted if it is 1, and without `by`.
    pub shards: u32,
}

/// One entry of `where`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftTest {
    /// The field.
    pub field: String,
    /// Its value, as TOML.
    pub value: String,
}

/// `[entity.NAME.count.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftCount {
    /// Its name.
    pub name: String,
    /// One count for each combination of these.
    pub by: Vec<String>,
    /// Also counted by these.
    pub split: Vec<String>,
    /// Added up.
    pub sums: Vec<String>,
    /// With their least values.
    pub min: Vec<String>,
    /// With their greatest values.
    pub max: Vec<String>,
    /// Also counted by window.
    pub window: Option<DraftWindow>,
    /// `where`.
    pub filter: Vec<DraftTest>,
    /// Number of rows it is spread over; 1 is omitted.
    pub shards: u32,
}

/// The windows of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftWindow {
    /// Such as `day`.
    pub unit: &'static str,
    /// The time that they are of.
    pub of: String,
    /// Their time zone.
    pub zone: &'static str,
}

/// `[entity.NAME.board.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftBoard {
    /// Its name.
    pub name: String,
    /// What it ranks.
    pub ranking: DraftRanking,
    /// One board for each combination of these.
    pub by: Vec<String>,
    /// `where`.
    pub filter: Vec<DraftTest>,
}

/// What a board ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftRanking {
    /// `of`: the values of a field.
    Of(String),
    /// `rank`: entities by a field.
    Rank(String),
}

/// One entry of `combine` in `[entity.NAME.tags.FIELD]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftCombination {
    /// The field with the tags.
    pub field: String,
    /// The keys.
    pub keys: Vec<String>,
}

/// `on.ENTITY.CHANGE = "TARGET"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftHandler {
    /// The entity.
    pub entity: String,
    /// The triggering change.
    pub change: TriggeringChange,
    /// The handler.
    pub target: String,
}

impl Draft {
    /// Returns the model, if the draft is valid.
    pub fn try_model(&self) -> Option<Model> {
        keyloom_model::check(&self.text()).ok()
    }

    /// Returns the model. Panics with the text and its errors if the draft is invalid.
    pub fn model(&self) -> Model {
        let text = self.text();
        match keyloom_model::check(&text) {
            Ok(model) => model,
            Err(errors) => panic!("{}\n{text}", render(&errors, "model.toml")),
        }
    }

    /// Returns the draft without an entity and everything that refers to it.
    pub fn without_entity(&self, name: &str) -> Draft {
        let mut draft = self.clone();
        draft.entities.retain(|entity| entity.name != name);
        draft.handlers.retain(|handler| handler.entity != name);
        for entity in &mut draft.entities {
            let mut gone: Vec<String> = vec![];
            if entity.parent.as_ref().is_some_and(|parent| parent.entity == name) {
                entity.parent = None;
                gone.push(name.to_owned());
            }
            let refers = |of: &DraftType| {
                let of = if let DraftType::List(of, _) = of { of } else { of };
                matches!(of, DraftType::Ref(target, _) if target == name)
            };
            let referring = entity.fields.iter().filter(|field| refers(&field.of));
            gone.extend(referring.map(|field| field.name.clone()));
            for field in &gone {
                entity.drop_field(field);
            }
        }
        draft
    }
}

impl Draft {
    /// Renames an entity wherever it is named. Only the last earlier name is declared, as of fields.
    pub fn rename_entity(&mut self, old: &str, new: &str) {
        let rename = |name: &mut String| {
            if name == old {
                new.clone_into(name);
            }
        };
        for entity in &mut self.entities {
            rename(&mut entity.name);
            if let Some(parent) = entity.parent.as_mut().filter(|parent| parent.entity == old) {
                rename(&mut parent.entity);
                // The reference to the parent has its name.
                entity.name_field(old, new);
            }
            for field in &mut entity.fields {
                field.of.rename_target(rename);
            }
        }
        self.handlers.iter_mut().for_each(|handler| rename(&mut handler.entity));
        self.renamed.retain(|(entity, earlier)| entity != old && earlier != old);
        self.renamed.push((new.to_owned(), old.to_owned()));
    }

    /// The earlier names of entities that a model can declare: none has them again.
    pub(super) fn earlier_names(&self) -> impl Iterator<Item = &(String, String)> {
        let has = |name: &String| self.entities.iter().any(|entity| entity.name == *name);
        self.renamed.iter().filter(move |(entity, old)| has(entity) && !has(old))
    }
}

impl DraftType {
    fn rename_target(&mut self, rename: impl Fn(&mut String)) {
        match self {
            DraftType::Ref(target, _) => rename(target),
            DraftType::List(of, _) | DraftType::Map(of, _) => of.rename_target(rename),
            DraftType::Text(_)
            | DraftType::Int(_)
            | DraftType::Number(_)
            | DraftType::Bool
            | DraftType::Time
            | DraftType::Bytes(_)
            | DraftType::Any
            | DraftType::Tags
            | DraftType::Enum(_) => {}
        }
    }
}

impl DraftEntity {
    /// Creates an entity without any declarations.
    pub fn bare(name: &str) -> DraftEntity {
        DraftEntity {
            name: name.to_owned(),
            path: None,
            id_source: IdSource::Generated,
            parent: None,
            tenant: None,
            expires: None,
            shards: 1,
            read_only: vec![],
            filters: vec![],
            searched: vec![],
            fields: vec![],
            formats: vec![],
            uniques: vec![],
            lists: vec![],
            counts: vec![],
            boards: vec![],
            combinations: vec![],
            sequence: DraftSequence::None,
            renamed: vec![],
            removed: vec![],
        }
    }

    /// Returns the field with this name.
    pub fn field(&self, name: &str) -> Option<&DraftField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Removes a field, and everything that names it.
    pub fn drop_field(&mut self, name: &str) {
        let names = |fields: &[String]| fields.iter().any(|field| field == name);
        let tests = |filter: &[DraftTest]| filter.iter().any(|test| test.field == name);
        self.fields.retain(|field| field.name != name);
        self.uniques.retain(|unique| {
            !names(&unique.fields) && unique.within.as_ref().is_none_or(|within| within != name)
        });
        self.lists.retain(|list| {
            let ordered = list.order.iter().any(|(field, _)| field == name);
            !names(&list.by) && !names(&list.facets) && !ordered && !tests(&list.filter)
        });
        self.counts.retain(|count| {
            let named = [&count.by, &count.split, &count.sums, &count.min, &count.max];
            let is_timed = count.window.as_ref().is_some_and(|window| window.of == name);
            !named.into_iter().any(|fields| names(fields)) && !tests(&count.filter) && !is_timed
        });
        self.boards.retain(|board| {
            let (DraftRanking::Of(field) | DraftRanking::Rank(field)) = &board.ranking;
            field != name && !names(&board.by) && !tests(&board.filter)
        });
        self.combinations.retain(|combination| combination.field != name);
        self.tenant.take_if(|tenant| tenant == name);
        self.expires.take_if(|expires| expires == name);
        self.read_only.retain(|field| field != name);
        self.filters.retain(|field| field != name);
        self.searched.retain(|field| field != name);
        self.formats.retain(|format| {
            format.field != name && format.by.as_ref().is_none_or(|(by, _)| by != name)
        });
        self.renamed.retain(|(field, _)| field != name);
    }

    /// Removes a field with its values, and everything that names it.
    pub fn remove_field(&mut self, name: &str) {
        self.drop_field(name);
        self.forget_earlier(name);
        self.removed.push(name.to_owned());
    }

    /// Renames a field wherever it is named.
    pub fn rename_field(&mut self, old: &str, new: &str) {
        self.name_field(old, new);
        self.forget_earlier(old);
        self.renamed.push((new.to_owned(), old.to_owned()));
    }

    /// Names a field differently, without saying what it was.
    fn name_field(&mut self, old: &str, new: &str) {
        let rename = |name: &mut String| {
            if name == old {
                new.clone_into(name);
            }
        };
        self.fields.iter_mut().for_each(|field| rename(&mut field.name));
        for unique in &mut self.uniques {
            unique.fields.iter_mut().chain(&mut unique.within).for_each(rename);
        }
        for list in &mut self.lists {
            let tested = list.filter.iter_mut().map(|test| &mut test.field);
            let ordered = list.order.iter_mut().map(|(field, _)| field);
            list.by
                .iter_mut()
                .chain(&mut list.facets)
                .chain(tested)
                .chain(ordered)
                .for_each(rename);
        }
        for count in &mut self.counts {
            let tested = count.filter.iter_mut().map(|test| &mut test.field);
            let timed = count.window.iter_mut().map(|window| &mut window.of);
            let summed = count.sums.iter_mut().chain(&mut count.min).chain(&mut count.max);
            count.by.iter_mut().chain(&mut count.split).chain(summed).for_each(rename);
            tested.chain(timed).for_each(rename);
        }
        for board in &mut self.boards {
            let (DraftRanking::Of(field) | DraftRanking::Rank(field)) = &mut board.ranking;
            let tested = board.filter.iter_mut().map(|test| &mut test.field);
            board.by.iter_mut().chain(tested).chain([field]).for_each(rename);
        }
        self.combinations.iter_mut().for_each(|combination| rename(&mut combination.field));
        self.tenant.iter_mut().chain(&mut self.expires).for_each(rename);
        let named = self.read_only.iter_mut().chain(&mut self.filters).chain(&mut self.searched);
        named.for_each(rename);
        for format in &mut self.formats {
            rename(&mut format.field);
            format.by.iter_mut().for_each(|(by, _)| rename(by));
        }
    }

    /// An earlier name belongs to one field: the last that had it. One that has been renamed again was
    /// called something else before, which only the models in between say.
    fn forget_earlier(&mut self, name: &str) {
        self.renamed.retain(|(field, earlier)| field != name && earlier != name);
        self.removed.retain(|removed| removed != name);
    }

    /// The earlier names of fields that a model can declare: no field has them again.
    pub(super) fn earlier_names(&self) -> impl Iterator<Item = &(String, String)> {
        let renamed = self.renamed.iter();
        renamed.filter(|(field, old)| self.field(field).is_some() && self.field(old).is_none())
    }

    /// The same for removed fields.
    pub(super) fn removed_names(&self) -> impl Iterator<Item = &String> {
        self.removed.iter().filter(|name| self.field(name).is_none())
    }
}
