//! Playing a sample of a workload, and counting what it consumes.

use std::sync::Arc;
use std::time::Duration;

use keyloom::{Clock, Db, Error, Options, Value};
use keyloom_model::workload::{DeclaredQuery, Workload, Writes};
use keyloom_model::{
    Entity, EntityId, FieldId, FieldOrigin, Layout, Matching, Model, Presence, Tenancy,
};
use keyloom_value::Item;

use super::PlanOptions;
use super::clock::SampleClock;
use super::document::{Author, Sampled};
use super::draw::{Drawer, Purpose};
use super::entropy::SeededEntropy;
use super::scratch::Scratch;
use super::tally::{Tally, Work};

/// The fewest times that an operation is played, however rare it is.
const PLAYED_MIN: u64 = 30;
/// How many entities of a kind there are before anything is counted.
const WARM_UP: u64 = 300;
/// How often servers fold deltas and settle scores.
const FOLD_EVERY: Duration = Duration::from_secs(7);
const SETTLE_EVERY: Duration = Duration::from_secs(2);
/// How often at most that is played.
const CHORES_MAX: u32 = 60;
/// How many samples are looked at for one that can change.
const PICKS: usize = 20;

/// What is played.
pub(super) struct Sample<'s> {
    pub(super) model: &'s Model,
    pub(super) workload: &'s Workload,
    pub(super) options: PlanOptions,
}

/// One kind of operation.
#[derive(Clone, Copy, Debug)]
enum Action {
    Create(EntityId),
    Update(EntityId),
    Delete(EntityId),
    Read(DeclaredQuery),
}

/// An operation, how often it is played, and how many operations of the workload each stands for.
#[derive(Clone, Copy, Debug)]
struct Turn {
    action: Action,
    rate: f64,
    count: u64,
}

impl Sample<'_> {
    /// Plays the sample on an empty store.
    pub(super) async fn play(&self, model: &str) -> Result<Tally, String> {
        let clock = SampleClock::new();
        let scratch = Scratch::new(&clock, self.options.seed)?;
        let options = Options {
            clock: Arc::new(clock.clone()),
            entropy: Arc::new(SeededEntropy::new(self.options.seed)),
            ..Options::default()
        };
        let db = Db::open_with(model, scratch.strict.clone(), options).await.map_err(said)?;
        let turns = self.turns();
        let seconds = self.seconds(&turns);
        let layout = Layout::new(self.model.clone(), 1, &Item::new()).keeping(Matching::Chunks);
        let mut player = Player {
            author: Author::new(&db, Drawer::new(self.model, self.workload, self.options.seed)),
            pools: vec![vec![]; self.model.entities().count()],
            tally: Tally::new(layout, seconds),
            scratch: &scratch,
            clock: &clock,
        };
        player.warm_up(self.workload).await?;
        player.play(&turns, seconds).await?;
        Ok(player.tally)
    }

    /// Half of the sample are writes and half are reads, each in proportion to their rates.
    fn turns(&self) -> Vec<Turn> {
        let of = |action, rate| Turn { action, rate, count: 0 };
        let writes = self.workload.writes.iter().flat_map(|writes: &Writes| {
            [
                of(Action::Create(writes.entity), writes.creates),
                of(Action::Update(writes.entity), writes.updates),
                of(Action::Delete(writes.entity), writes.deletes),
            ]
        });
        let reads = self.workload.reads.iter();
        let reads = reads.map(|reads| of(Action::Read(reads.query), reads.per_second));
        let mut turns = vec![];
        for part in [writes.collect::<Vec<_>>(), reads.collect()] {
            let total: f64 = part.iter().map(|turn| turn.rate).sum();
            let half = self.options.operations as f64 / 2.0;
            turns.extend(part.into_iter().filter(|turn| turn.rate > 0.0).map(|turn| Turn {
                count: ((half * turn.rate / total).round() as u64).max(PLAYED_MIN),
                ..turn
            }));
        }
        turns
    }

    /// How long the sample lasts: as long as its most frequent write takes at its rate.
    fn seconds(&self, turns: &[Turn]) -> f64 {
        let is_write = |turn: &&Turn| !matches!(turn.action, Action::Read(_));
        let frequent =
            |turns: Vec<&Turn>| turns.into_iter().max_by(|a, b| a.rate.total_cmp(&b.rate)).copied();
        let most = frequent(turns.iter().filter(is_write).collect());
        let most = most.or_else(|| frequent(turns.iter().collect()));
        most.map_or(1.0, |turn| turn.count as f64 / turn.rate)
    }
}

struct Player<'p> {
    author: Author<'p>,
    /// The entities of each kind that updates, deletes and reads pick from.
    pools: Vec<Vec<Sampled>>,
    tally: Tally,
    scratch: &'p Scratch,
    clock: &'p SampleClock,
}

impl Player<'_> {
    /// Creates entities that are not counted, so that lists have pages.
    async fn warm_up(&mut self, workload: &Workload) -> Result<(), String> {
        let written = workload.writes.iter().map(|writes| writes.entity);
        let read = workload.reads.iter().map(|reads| entity_of(reads.query));
        let mut entities: Vec<EntityId> = written.chain(read).collect();
        entities.sort_unstable();
        entities.dedup();
        for entity in entities {
            for _ in 0..WARM_UP {
                self.pass(0.01);
                self.create(entity).await?;
            }
        }
        for _ in 0..2 {
            self.clock.pass(FOLD_EVERY);
            self.author.db.fold().await.map_err(said)?;
            self.author.db.settle_scores().await.map_err(said)?;
        }
        self.scratch.strict.take_metered();
        Ok(())
    }

    async fn play(&mut self, turns: &[Turn], seconds: f64) -> Result<(), String> {
        let count: u64 = turns.iter().map(|turn| turn.count).sum();
        let mut order: Vec<usize> = turns
            .iter()
            .enumerate()
            .flat_map(|(place, turn)| (0..turn.count).map(move |_| place))
            .collect();
        self.author.drawer.random.shuffle(&mut order);
        let began = self.clock.elapsed();
        let slowest = Duration::from_secs_f64(seconds / f64::from(CHORES_MAX));
        let (fold_every, settle_every) = (FOLD_EVERY.max(slowest), SETTLE_EVERY.max(slowest));
        let (mut folded, mut settled) = (began, began);
        for place in order {
            self.pass(seconds / count as f64);
            let turn = turns[place];
            self.act(turn, turn.rate * seconds / turn.count as f64).await?;
            let now = self.clock.elapsed();
            if now - folded >= fold_every {
                folded = now;
                self.fold().await?;
            }
            if now - settled >= settle_every {
                settled = now;
                self.settle().await?;
            }
        }
        // What is left is work of this sample, too.
        for _ in 0..2 {
            self.clock.pass(FOLD_EVERY);
            self.fold().await?;
        }
        self.settle().await
    }

    async fn fold(&mut self) -> Result<(), String> {
        self.author.db.fold().await.map_err(said)?;
        self.tally.add(Work::Folding, 1.0, self.scratch.strict.take_metered());
        Ok(())
    }

    async fn settle(&mut self) -> Result<(), String> {
        self.author.db.settle_scores().await.map_err(said)?;
        self.tally.add(Work::Settling, 1.0, self.scratch.strict.take_metered());
        Ok(())
    }

    fn pass(&mut self, seconds: f64) {
        self.clock.pass(Duration::from_secs_f64(seconds));
        self.author.drawer.now_ms = i64::try_from(self.clock.now().0).unwrap_or(i64::MAX);
    }

    /// Plays one operation, and counts what it consumes.
    async fn act(&mut self, turn: Turn, weight: f64) -> Result<(), String> {
        let work = match turn.action {
            Action::Create(entity) => {
                self.create(entity).await?;
                Work::Write(entity)
            }
            Action::Update(entity) => {
                self.update(entity).await?;
                Work::Write(entity)
            }
            Action::Delete(entity) => {
                self.delete(entity).await?;
                Work::Write(entity)
            }
            Action::Read(query) => {
                self.read(query).await?;
                Work::Read(query)
            }
        };
        self.tally.add(work, weight, self.scratch.strict.take_metered());
        Ok(())
    }

    async fn create(&mut self, entity: EntityId) -> Result<(), String> {
        let tenant = self.author.tenant(entity, Purpose::Write).await?;
        let document = self.author.document(entity, tenant.as_ref()).await?;
        // Targets that were created for it are not part of the workload.
        self.scratch.strict.take_metered();
        let created = self.author.insert(entity, tenant, document).await?;
        self.pools[entity.index()].push(created);
        Ok(())
    }

    async fn update(&mut self, entity: EntityId) -> Result<(), String> {
        let Some((place, field)) = self.pick_change(entity) else { return Ok(()) };
        let sampled = self.pools[entity.index()][place].clone();
        let tenant = sampled.tenant.as_ref();
        let value = self.author.value((entity, field), tenant, Purpose::Write).await?;
        let declared = self.author.drawer.model.entity(entity);
        let next = next_members(declared, field, &sampled.fields).unwrap_or_default();
        let value = self.author.drawer.member(value, next);
        let patch = Item::from([(declared.field(field).name.as_str(), value)]);
        self.scratch.strict.take_metered();
        let db = self.author.db_of(tenant);
        let name = &declared.name;
        match db.transact(vec![keyloom::Change::update_item(name, &sampled.id, patch)]).await {
            Ok(updated) => {
                if let Some(record) = updated.into_iter().flatten().next() {
                    self.pools[entity.index()][place].fields = record.fields().clone();
                }
                Ok(())
            }
            // It was deleted with another one.
            Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(format!("cannot update a sample `{name}`: {error}")),
        }
    }

    /// A sample, and a field of it that can change. Some samples may have none: with transitions, a value
    /// can be final.
    fn pick_change(&mut self, entity: EntityId) -> Option<(usize, FieldId)> {
        let (declared, changed) = (self.author.drawer.model.entity(entity), self.changed(entity));
        for _ in 0..PICKS {
            let place = self.pick(entity)?;
            let sampled = &self.pools[entity.index()][place];
            let is_final = |field| next_members(declared, field, &sampled.fields) == Some(&[]);
            let fields: Vec<FieldId> =
                changed.iter().copied().filter(|field| !is_final(*field)).collect();
            if !fields.is_empty() {
                return Some((place, fields[self.author.drawer.random.index(fields.len())]));
            }
        }
        None
    }

    /// The fields of which an update sets one.
    fn changed(&self, id: EntityId) -> Vec<FieldId> {
        let (model, workload) = (self.author.drawer.model, self.author.drawer.workload);
        let writes = workload.writes.iter().find(|writes| writes.entity == id);
        if let Some(writes) = writes.filter(|writes| !writes.changed.is_empty()) {
            return writes.changed.clone();
        }
        let entity = model.entity(id);
        let is_unique = |field| entity.uniques.iter().any(|unique| unique.fields.contains(&field));
        let is_formatted = |field| entity.format_rule(field).is_some();
        let is_fixed = |field| {
            let set = [entity.expires, entity.updated];
            entity.tenancy == Tenancy::Own(field) || set.contains(&Some(field))
        };
        let fields = entity.fields().filter(|(id, field)| {
            field.origin == FieldOrigin::Declared
                && (field.presence == Presence::Required || field.default.is_none())
                && !is_unique(*id)
                && !is_formatted(*id)
                && !is_fixed(*id)
                && !entity.is_assigned(field)
        });
        fields.map(|(id, _)| id).collect()
    }

    async fn delete(&mut self, entity: EntityId) -> Result<(), String> {
        let Some(place) = self.pick(entity) else { return Ok(()) };
        let sampled = self.pools[entity.index()].swap_remove(place);
        let name = &self.author.drawer.model.entity(entity).name;
        let deleted = self.author.db_of(sampled.tenant.as_ref()).delete(name, &sampled.id).await;
        match deleted {
            Ok(()) | Err(Error::NotFound { .. } | Error::InUse { .. }) => Ok(()),
            Err(error) => Err(format!("cannot delete a sample `{name}`: {error}")),
        }
    }

    fn pick(&mut self, entity: EntityId) -> Option<usize> {
        let length = self.pools[entity.index()].len();
        (length > 0).then(|| self.author.drawer.random.index(length))
    }

    async fn read(&mut self, query: DeclaredQuery) -> Result<(), String> {
        let model = self.author.drawer.model;
        let id = entity_of(query);
        let entity = model.entity(id);
        let by: &[FieldId] = match query {
            DeclaredQuery::Get(_) | DeclaredQuery::Find(..) => return self.read_one(query).await,
            DeclaredQuery::List(_, list) => &entity.list(list).by,
            DeclaredQuery::Count(_, count) => &entity.count(count).by,
            DeclaredQuery::Board(_, board) => &entity.board(board).by,
        };
        let tenant = self.author.tenant(id, Purpose::Read).await?;
        let mut values: Vec<(&str, Value)> = vec![];
        for field in by {
            let value = self.author.value((id, *field), tenant.as_ref(), Purpose::Read).await?;
            values.push((&entity.field(*field).name, value));
        }
        self.scratch.strict.take_metered();
        let db = self.author.db_of(tenant.as_ref());
        let done = match query {
            DeclaredQuery::Get(_) | DeclaredQuery::Find(..) => Ok(()),
            DeclaredQuery::List(_, list) => {
                let query = db.list(&entity.name, &entity.list(list).name);
                values
                    .into_iter()
                    .fold(query, |query, (name, of)| query.by(name, of))
                    .read()
                    .await
                    .map(drop)
            }
            DeclaredQuery::Count(_, count) => {
                let query = db.count(&entity.name, &entity.count(count).name);
                values
                    .into_iter()
                    .fold(query, |query, (name, of)| query.by(name, of))
                    .total()
                    .await
                    .map(drop)
            }
            DeclaredQuery::Board(_, board) => {
                let query = db.board(&entity.board(board).name);
                values
                    .into_iter()
                    .fold(query, |query, (name, of)| query.by(name, of))
                    .read()
                    .await
                    .map(drop)
            }
        };
        done.map_err(|error| format!("cannot read `{}`: {error}", query.name(model)))
    }

    /// Reads an entity by its id or a unique value.
    async fn read_one(&mut self, query: DeclaredQuery) -> Result<(), String> {
        let id = entity_of(query);
        let Some(place) = self.pick(id) else { return Ok(()) };
        let (sampled, model) = (self.pools[id.index()][place].clone(), self.author.drawer.model);
        let entity = model.entity(id);
        let db = self.author.db_of(sampled.tenant.as_ref());
        let done = match query {
            DeclaredQuery::Find(_, unique) => {
                let unique = entity.unique(unique);
                let fields = unique.fields.iter().chain(&unique.within);
                let fields = fields.map(|field| entity.field(*field).name.as_str());
                let values: Option<Vec<(&str, Value)>> = fields
                    .map(|name| sampled.fields.get(name).map(|value| (name, value.clone())))
                    .collect();
                match values {
                    Some(values) => db.find(&entity.name, &values).await.map(drop),
                    // The constraint does not apply to it.
                    None => Ok(()),
                }
            }
            DeclaredQuery::Get(_)
            | DeclaredQuery::List(..)
            | DeclaredQuery::Count(..)
            | DeclaredQuery::Board(..) => db.get(&entity.name, &sampled.id).await.map(drop),
        };
        done.map_err(|error| format!("cannot read `{}`: {error}", query.name(model)))
    }
}

fn entity_of(query: DeclaredQuery) -> EntityId {
    let (DeclaredQuery::Get(entity)
    | DeclaredQuery::Find(entity, _)
    | DeclaredQuery::List(entity, _)
    | DeclaredQuery::Count(entity, _)
    | DeclaredQuery::Board(entity, _)) = query;
    entity
}

/// The members that the value of an enum can become, if that is restricted.
fn next_members<'m>(entity: &'m Entity, field: FieldId, fields: &Item) -> Option<&'m [String]> {
    entity.next_members(field, fields.get(&entity.field(field).name)?.as_s()?)
}

fn said(error: Error) -> String {
    format!("the sample cannot run: {error}")
}
