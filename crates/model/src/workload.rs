//! Workload files: how often the entities of a model are written, how their values are distributed, and
//! how often each declared query is read. `docs/planning.md` explains them.
//!
//! A workload is checked against a model, with errors as those of model files.

mod draw;
mod rate;
mod reads;
mod shards;

pub use draw::Draw;
pub use shards::{Shards, ShardsOf, declare_shards};

use crate::declare::keys::{Keys, TableKind, table};
use crate::error::{Code, ModelError, Report, Reporter};
use crate::model::{BoardId, CountId, Entity, EntityId, FieldId, ListId, Model, UniqueId};
use crate::parse::{Entry, parse};
use crate::source::{Source, Span};

const ENTITY: TableKind = TableKind {
    what: "an entity of a workload",
    keys: &["creates", "updates", "deletes", "changed", "fields"],
};
const READS: &str = "reads";

/// How a model is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The entities that are written, in the order of the file.
    pub writes: Vec<Writes>,
    /// The queries that are read, in the order of the file.
    pub reads: Vec<Reads>,
}

/// How often entities of a kind are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Writes {
    /// The kind.
    pub entity: EntityId,
    /// How many are created in a second.
    pub creates: f64,
    /// How many are updated in a second.
    pub updates: f64,
    /// How many are deleted in a second.
    pub deletes: f64,
    /// The fields of which an update sets one; if there are none, any.
    pub changed: Vec<FieldId>,
    /// How values are drawn. Those of other fields depend on their types.
    pub fields: Vec<(FieldId, Draw)>,
}

/// How often a query is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reads {
    /// The query.
    pub query: DeclaredQuery,
    /// How often in a second.
    pub per_second: f64,
}

/// A query that a model declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeclaredQuery {
    /// One entity, by its id.
    Get(EntityId),
    /// One entity, by a unique value.
    Find(EntityId, UniqueId),
    /// The first page of a list.
    List(EntityId, ListId),
    /// A total of a count.
    Count(EntityId, CountId),
    /// The first page of a leaderboard.
    Board(EntityId, BoardId),
}

impl Workload {
    /// Reads a workload file for a model.
    ///
    /// # Errors
    ///
    /// Every error of the file, in its order.
    pub fn check(source: &str, model: &Model) -> Result<Workload, Vec<ModelError>> {
        let lines = Source::new(source);
        let mut reporter = Reporter::new(&lines);
        let workload = parse(source, &lines, &mut reporter)
            .map(|entries| Checker { model, reporter: &mut reporter }.workload(&entries));
        let errors = reporter.finish();
        match workload {
            Some(workload) if errors.is_empty() => Ok(workload),
            _ => Err(errors),
        }
    }

    /// How the values of a field are drawn, if the file says so.
    pub fn draw(&self, entity: EntityId, field: FieldId) -> Option<&Draw> {
        let writes = self.writes.iter().find(|writes| writes.entity == entity)?;
        writes.fields.iter().find(|(id, _)| *id == field).map(|(_, draw)| draw)
    }
}

impl Writes {
    /// How many entities are written in a second.
    pub fn per_second(&self) -> f64 {
        self.creates + self.updates + self.deletes
    }
}

struct Checker<'c, 'r> {
    model: &'c Model,
    reporter: &'c mut Reporter<'r>,
}

impl Checker<'_, '_> {
    fn workload(&mut self, entries: &[Entry]) -> Workload {
        let mut workload = Workload { writes: vec![], reads: vec![] };
        for entry in entries {
            if entry.key.text == READS {
                workload.reads = table(entry, self.reporter)
                    .map(|entries| reads::read(entries, self.model, self.reporter))
                    .unwrap_or_default();
            } else if let Some(entity) = self.entity(entry) {
                workload.writes.extend(self.writes(entity, entry));
            }
        }
        let rates = workload.writes.iter().map(Writes::per_second);
        let reads = workload.reads.iter().map(|reads| reads.per_second);
        // Of a file with other errors, not every rate is known.
        if self.reporter.is_empty() && !rates.chain(reads).any(|rate| rate > 0.0) {
            let help = "begin with `[ENTITY]` and a line such as `creates = 100`, in a second";
            let reason = "the workload has no rate above 0";
            self.reporter.push(Report::new(Code::NoRates, Span::new(0, 0), reason).help(help));
        }
        workload
    }

    fn entity(&mut self, entry: &Entry) -> Option<EntityId> {
        let name = &entry.key;
        let found = self.model.find(&name.text);
        if found.is_none() {
            let reason = format!("the model has no entity `{}`", name.text);
            let names = self.model.entities().map(|(_, entity)| entity.name.as_str());
            let what = "a workload has entities of the model, and `reads`";
            let help = self.reporter.suggest(&name.text, what, names.chain([READS]));
            self.reporter.push(Report { code: Code::UnknownEntity, span: name.span, reason, help });
        }
        found
    }

    fn writes(&mut self, id: EntityId, entry: &Entry) -> Option<Writes> {
        let entity = self.model.entity(id);
        let keys = Keys::read(table(entry, self.reporter)?, &ENTITY, self.reporter);
        let mut rate = |name| rate::optional(keys.get(name), self.reporter);
        let [creates, updates, deletes] = ["creates", "updates", "deletes"].map(&mut rate);
        let changed = keys.words("changed", self.reporter);
        let changed = changed.iter().filter_map(|word| self.field(entity, &word.text, word.span));
        let changed = changed.collect();
        let mut fields = vec![];
        for entry in keys.table("fields", self.reporter) {
            let Some(id) = self.field(entity, &entry.key.text, entry.key.span) else { continue };
            fields.extend(draw::read(entry, entity, id, self.reporter).map(|draw| (id, draw)));
        }
        Some(Writes { entity: id, creates, updates, deletes, changed, fields })
    }

    fn field(&mut self, entity: &Entity, name: &str, span: Span) -> Option<FieldId> {
        let found = entity.find_field(name).filter(|_| name != "id");
        if found.is_none() {
            let reason = format!("`{}` has no field `{name}`", entity.name);
            let names = entity.settable_fields().map(|field| field.name.as_str());
            let help = self.reporter.suggest(name, "its fields are", names);
            self.reporter.push(Report { code: Code::UnknownField, span, reason, help });
        }
        found
    }
}
