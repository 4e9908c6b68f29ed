//! Access rules: whatever they are, a user reads and changes what a naive reading of them allows, and
//! learns nothing of the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyloom::{Change, Db, Error, FindTags, Idempotent, ListQuery, Record, User};
use keyloom_store::Store;
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::cases::for_all;
use crate::rig::{assert_clean, engine_at, memory_store_at, open, plain_store};

const SUBJECTS: [&str; 3] = ["ann", "bob", "cyn"];
const ROLES: [&str; 5] = ["staff", "boss", "reader", "writer", "guest"];
const STATES: [&str; 2] = ["open", "done"];

/// A rule: the words that it names.
type Rule = BTreeSet<&'static str>;

/// The rules of a kind of entity.
#[derive(Clone, Debug, Default)]
struct Rules {
    read: Rule,
    create: Rule,
    update: Rule,
    delete: Rule,
}

/// An entity as the naive reference knows it.
#[derive(Clone, Debug, PartialEq)]
struct Entity {
    kind: &'static str,
    owner: &'static str,
    state: &'static str,
    /// The id of the project that a task belongs to.
    project: Option<String>,
    /// The unique name of a project.
    name: String,
}

/// What the reference knows.
struct Reference {
    projects: Rules,
    tasks: Rules,
    entities: BTreeMap<String, Entity>,
}

/// A user, with the words that rules know them by.
#[derive(Clone, Debug)]
struct Known {
    subject: &'static str,
    roles: BTreeSet<&'static str>,
}

fn rule(random: &mut Random, words: &[&'static str]) -> Rule {
    random.some_of(words, 2).into_iter().collect()
}

fn rules(random: &mut Random, words: &[&'static str]) -> Rules {
    let mut draw = || rule(random, words);
    Rules { read: draw(), create: draw(), update: draw(), delete: draw() }
}

fn text(rules: &Rules) -> String {
    let Rules { read, create, update, delete } = rules;
    let all = [("read", read), ("create", create), ("update", update), ("delete", delete)];
    let lines = all.into_iter().filter(|(_, rule)| !rule.is_empty());
    lines.map(|(key, rule)| format!("access.{key} = {rule:?}\n").replace(['{', '}'], "|")).fold(
        String::new(),
        |text, line| {
            let (start, end) = line.split_once('|').expect("a set");
            format!("{text}{start}[{}]\n", end.trim_end().trim_end_matches('|'))
        },
    )
}

impl Reference {
    fn model(&self) -> String {
        let (projects, tasks) = (text(&self.projects), text(&self.tasks));
        format!(
            r#"
[entity.project]
fields.lead  = "text"
fields.state = "enum(open, done)"
fields.name  = "text"
access.owner = "lead"
{projects}
unique = ["name"]
list.all   = {{ facets = ["lead", "state"] }}
list.mine  = {{ by = "lead", facets = ["state"] }}
list.state = {{ by = "state", facets = ["lead"] }}
list.open  = {{ order = "name", access = ["everyone"] }}
list.team  = {{ order = ["state", "name"], access = ["staff"] }}
count.all  = {{ split = ["lead"] }}
count.mine = {{ by = "lead" }}

[entity.task]
parent = "project"
on_parent_delete = "cascade"
fields.assignee = "text"
fields.state    = "enum(open, done)"
access.owner = "assignee"
{tasks}
list.of   = {{ by = "project", facets = ["assignee"] }}
list.mine = {{ by = "assignee", access = ["owner"] }}
count.of  = {{ by = "project", split = ["assignee"] }}
"#
        )
    }

    fn rules(&self, entity: &Entity) -> &Rules {
        if entity.kind == "task" { &self.tasks } else { &self.projects }
    }

    /// Whether a rule admits a user to an entity. `on_parent` is the rule about the parent.
    fn admits(&self, user: &Known, deed: &str, entity: &Entity) -> bool {
        let rules = self.rules(entity);
        let (rule, on_parent) = match deed {
            "read" => (&rules.read, "read"),
            "create" => (&rules.create, "update"),
            "update" => (&rules.update, "update"),
            _ => (&rules.delete, "update"),
        };
        let parent = || {
            let parent = entity.project.as_ref().and_then(|id| self.entities.get(id));
            parent.is_some_and(|parent| self.admits(user, on_parent, parent))
        };
        user.is_exempt(deed)
            || user.is_named(rule)
            || rule.contains("owner") && entity.owner == user.subject
            || rule.contains("parent") && parent()
    }

    fn sees(&self, user: &Known, id: &str) -> bool {
        self.entities.get(id).is_some_and(|entity| self.admits(user, "read", entity))
    }

    /// Whether a user can see any entities like this one.
    fn can_see(&self, user: &Known, like: &Entity) -> bool {
        user.is_exempt("read") || user.may_ever(&self.rules(like).read)
    }

    fn ids(&self, is_meant: impl Fn(&Entity) -> bool) -> BTreeSet<String> {
        let meant = self.entities.iter().filter(|(_, entity)| is_meant(entity));
        meant.map(|(id, _)| id.clone()).collect()
    }
}

impl Known {
    fn draw(random: &mut Random) -> Known {
        let roles = match random.chance(1, 2) {
            true => random.some_of(&ROLES, 1),
            false => vec![],
        };
        let subject = *random.pick(&SUBJECTS);
        Known { subject, roles: roles.into_iter().collect() }
    }

    fn db(&self, db: &Db) -> Db {
        db.user(User::new(self.subject, self.roles.iter().copied()))
    }

    fn is_exempt(&self, deed: &str) -> bool {
        self.roles.contains("writer") || deed == "read" && self.roles.contains("reader")
    }

    /// Whether a rule admits the user to all entities.
    fn is_named(&self, rule: &Rule) -> bool {
        rule.contains("everyone") || !rule.is_disjoint(&self.roles)
    }

    /// Whether a rule admits the user to any entities.
    fn may_ever(&self, rule: &Rule) -> bool {
        self.is_named(rule) || rule.contains("owner") || rule.contains("parent")
    }

    fn reads_all(&self, rule: &Rule) -> bool {
        self.is_exempt("read") || self.is_named(rule)
    }
}

#[test]
fn users_read_and_change_what_rules_allow_on_the_memory_store() {
    run(150, |clock| Arc::new(memory_store_at(clock)));
}

#[test]
fn users_read_and_change_what_rules_allow_on_the_engine() {
    run(40, |clock| Arc::new(engine_at(clock)));
}

#[test]
fn users_read_and_change_what_rules_allow_on_a_store_without_sets() {
    run(60, plain_store);
}

fn run(count: u32, store: impl Fn(&ManualClock) -> Arc<dyn Store>) {
    for_all(count, (any::<u64>().no_shrink(), 1..60usize), |(seed, steps)| {
        let (mut random, clock) = (Random::new(seed), ManualClock::new());
        let words = ["owner", "everyone", "staff", "boss"];
        let projects = rules(&mut random, &words);
        let tasks = rules(&mut random, &["owner", "parent", "everyone", "staff"]);
        let mut reference = Reference { projects, tasks, entities: BTreeMap::new() };
        let db = block_on(open(&reference.model(), store(&clock)));
        for _ in 0..steps {
            let user = Known::draw(&mut random);
            change(&mut reference, &db, &user, &mut random);
            let reader = Known::draw(&mut random);
            check_reads(&reference, &reader, &reader.db(&db));
        }
        assert_clean(&db);
    });
}

/// Makes a random change as a user, and compares its outcome.
fn change(reference: &mut Reference, db: &Db, user: &Known, random: &mut Random) {
    let as_user = user.db(db);
    let id = pick_id(reference, random);
    match (random.below(6), id) {
        (0, _) => {
            let owner = *random.pick(&SUBJECTS);
            let state = *random.pick(&STATES);
            let name = random.next_u64().to_string();
            // The owner can be left out: it is the user.
            let mut document = json!({ "state": state, "name": name });
            let entity = Entity { kind: "project", owner, state, project: None, name };
            if owner != user.subject || random.chance(1, 2) {
                document["lead"] = json!(owner);
            }
            create(reference, &as_user, user, (entity, &document));
        }
        (1, _) => {
            let Some(project) = reference.ids(|entity| entity.kind == "project").pop_first() else {
                return;
            };
            let owner = *random.pick(&SUBJECTS);
            let state = *random.pick(&STATES);
            let document = json!({ "project": project, "assignee": owner, "state": state });
            let (project, name) = (Some(project), String::new());
            let entity = Entity { kind: "task", owner, state, project, name };
            create(reference, &as_user, user, (entity, &document));
        }
        (2 | 3, Some(id)) => update(reference, &as_user, user, (&id, random)),
        (4, Some(id)) => delete(reference, &as_user, user, &id),
        (_, _) => {
            // By somebody whom no rule limits, so that there is something to see.
            let owner = *random.pick(&SUBJECTS);
            let state = *random.pick(&STATES);
            let name = random.next_u64().to_string();
            let document = json!({ "lead": owner, "state": state, "name": name });
            let entity = Entity { kind: "project", owner, state, project: None, name };
            let created = block_on(db.create("project", &document)).expect("it is created");
            reference.entities.insert(created.id().to_owned(), entity);
        }
    }
}

fn pick_id(reference: &Reference, random: &mut Random) -> Option<String> {
    let ids: Vec<&String> = reference.entities.keys().collect();
    (!ids.is_empty()).then(|| (*random.pick(&ids)).clone())
}

fn create(reference: &mut Reference, db: &Db, user: &Known, of: (Entity, &Json)) {
    let (entity, document) = of;
    let created = block_on(db.create(entity.kind, document));
    match reference.admits(user, "create", &entity) {
        true => {
            let id = created.expect("it is allowed").id().to_owned();
            reference.entities.insert(id, entity);
        }
        false => assert_forbidden(created),
    }
}

fn update(reference: &mut Reference, db: &Db, user: &Known, of: (&str, &mut Random)) {
    let (id, random) = of;
    let before = reference.entities[id].clone();
    let field = if before.kind == "task" { "assignee" } else { "lead" };
    let (patch, after) = match random.chance(1, 2) {
        true => {
            let state = *random.pick(&STATES);
            (json!({ "state": state }), Entity { state, ..before.clone() })
        }
        false => {
            let owner = *random.pick(&SUBJECTS);
            (json!({ field: owner }), Entity { owner, ..before.clone() })
        }
    };
    let may = |entity| reference.admits(user, "update", entity);
    let updated = match random.chance(1, 4) {
        true => block_on(db.rehearse(vec![Change::update(before.kind, id, &patch).unwrap()]))
            .map(|_| None),
        false => block_on(db.update(before.kind, id, &patch)).map(Some),
    };
    if !reference.sees(user, id) {
        let may_ever = user.is_exempt("update") || user.may_ever(&reference.rules(&before).update);
        assert_unseen(updated, reference.can_see(user, &before) && may_ever);
    } else if !may(&before) || !may(&after) {
        assert_forbidden(updated);
    } else if updated.expect("it is allowed").is_some() {
        reference.entities.insert(id.to_owned(), after);
    }
}

fn delete(reference: &mut Reference, db: &Db, user: &Known, id: &str) {
    let entity = reference.entities[id].clone();
    let deleted = block_on(db.delete(entity.kind, id));
    if !reference.sees(user, id) {
        let may_ever = user.is_exempt("delete") || user.may_ever(&reference.rules(&entity).delete);
        assert_unseen(deleted, reference.can_see(user, &entity) && may_ever);
    } else if !reference.admits(user, "delete", &entity) {
        assert_forbidden(deleted);
    } else {
        deleted.expect("it is allowed");
        let is_gone = |of: &Entity| of.project.as_deref() == Some(id);
        reference.entities.retain(|other, entity| other != id && !is_gone(entity));
    }
}

/// An entity that a user cannot see does not exist for them, unless they may do such a thing with none.
fn assert_unseen<T: std::fmt::Debug>(result: Result<T, Error>, may_with_others: bool) {
    match may_with_others {
        true => assert!(matches!(result, Err(Error::NotFound { .. })), "{result:?}"),
        false => assert_forbidden(result),
    }
}

fn assert_forbidden<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::Forbidden { .. })), "{result:?}");
}

/// Compares everything that a user can read.
fn check_reads(reference: &Reference, user: &Known, db: &Db) {
    for (id, entity) in &reference.entities {
        check_one(reference, user, db, (id, entity));
    }
    let is_project = |entity: &Entity| entity.kind == "project";
    let read = &reference.projects.read;
    let all = reference.ids(is_project);
    let own = reference.ids(|entity| is_project(entity) && entity.owner == user.subject);
    let part = match (user.reads_all(read), read.contains("owner")) {
        (true, _) => Some(all.clone()),
        (false, true) => Some(own.clone()),
        (false, false) => None,
    };
    check_list(&db.list("project", "all"), part.clone());
    check_total(&db.list("project", "all"), part.as_ref().map(BTreeSet::len));
    check_facets(db, user, (reference, part.as_ref()));
    for state in STATES {
        let in_state = |id: &String| reference.entities[id].state == state;
        let part = part.as_ref().map(|ids| ids.iter().filter(|id| in_state(id)).cloned().collect());
        check_list(&db.list("project", "state").by("state", state), part);
    }
    for lead in SUBJECTS {
        let led = reference.ids(|entity| is_project(entity) && entity.owner == lead);
        let is_allowed = user.reads_all(read) || read.contains("owner") && lead == user.subject;
        check_list(&db.list("project", "mine").by("lead", lead), is_allowed.then(|| led.clone()));
        let count = block_on(db.count("project", "mine").by("lead", lead).total());
        check_number(count, is_allowed.then_some(led.len()));
    }
    check_number(block_on(db.count("project", "all").total()), part.as_ref().map(BTreeSet::len));
    // A query can have readers of its own.
    check_list(&db.list("project", "open"), Some(all.clone()));
    check_trees(reference, user, db);
    let is_staff = user.is_exempt("read") || user.roles.contains("staff");
    check_list(&db.list("project", "team"), is_staff.then_some(all));
    let mine = reference.ids(|entity| entity.kind == "task" && entity.owner == user.subject);
    check_list(&db.list("task", "mine").by("assignee", user.subject), Some(mine));
}

fn check_one(reference: &Reference, user: &Known, db: &Db, (id, entity): (&str, &Entity)) {
    let can_ever = reference.can_see(user, entity);
    let found = block_on(db.get(entity.kind, id));
    match can_ever {
        true => assert_eq!(found.expect("it is read").is_some(), reference.sees(user, id)),
        false => assert_forbidden(found),
    }
    if entity.kind != "project" {
        return;
    }
    let found = block_on(db.find("project", &[("name", entity.name.as_str().into())]));
    match can_ever {
        true => assert_eq!(found.expect("it is read").is_some(), reference.sees(user, id)),
        false => assert_forbidden(found),
    }
    // The tasks of a project, as a list, a count, children and in a tree.
    let of = |task: &Entity| task.project.as_deref() == Some(id);
    let read = &reference.tasks.read;
    let parent_shows = read.contains("parent") && reference.sees(user, id);
    let all = user.reads_all(read) || parent_shows;
    let part = match (all, read.contains("owner")) {
        (true, _) => Some(reference.ids(of)),
        (false, true) => Some(reference.ids(|task| of(task) && task.owner == user.subject)),
        (false, false) => None,
    };
    check_list(&db.list("task", "of").by("project", id), part.clone());
    let count = block_on(db.count("task", "of").by("project", id).total());
    check_number(count, part.map(|ids| ids.len()));
    let children = block_on(db.with_children("project", id, Some("task"), 100));
    let tree = block_on(db.tree("project", id, "tasks", None));
    let can_read_children = user.reads_all(read) || read.contains("parent");
    if !can_ever || !can_read_children {
        assert_forbidden(children);
        assert_forbidden(tree);
        return;
    }
    let expected = reference.sees(user, id).then(|| reference.ids(of));
    let found = children.expect("they are read").map(|found| ids(&found.children));
    assert_eq!(found, expected);
    let page = block_on(db.children("project", id, Some("task"), (100, None)));
    assert_eq!(page.expect("they are read").map(|page| ids(&page.items)), expected);
    let tree = tree.expect("it is read");
    let found = tree.map(|tree| {
        let tasks = tree.children["tasks"].items.iter();
        tasks.map(|task| task.record.id().to_owned()).collect::<BTreeSet<_>>()
    });
    assert_eq!(found, expected);
}

/// Whoever reads a list sees the tasks of a project in it as anywhere else.
fn check_trees(reference: &Reference, user: &Known, db: &Db) {
    let page = block_on(db.list("project", "open").limit(1000).read()).expect("it is for all");
    let trees = block_on(db.trees("project", page.items, "tasks", None));
    let read = &reference.tasks.read;
    if !user.reads_all(read) && !read.contains("parent") {
        return if reference.entities.is_empty() { drop(trees) } else { assert_forbidden(trees) };
    }
    for tree in trees.expect("they are read") {
        let id = tree.record.id();
        let is_shown = user.reads_all(read) || reference.sees(user, id);
        let tasks = reference.ids(|task| task.project.as_deref() == Some(id) && is_shown);
        let found = tree.children["tasks"].items.iter().map(|task| task.record.id().to_owned());
        assert_eq!(found.collect::<BTreeSet<_>>(), tasks, "{user:?}");
    }
}

/// The facets of a list are those of the part that the user may read.
fn check_facets(db: &Db, user: &Known, of: (&Reference, Option<&BTreeSet<String>>)) {
    let (reference, part) = of;
    let values = block_on(db.list("project", "all").facet_values("lead"));
    let Some(part) = part else { return assert_forbidden(values) };
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for id in part {
        *expected.entry(reference.entities[id].owner.to_owned()).or_default() += 1;
    }
    let values = values.expect("they are counted").counts;
    let found = values.iter().map(|value| (value.value.as_s().unwrap().to_owned(), value.count));
    assert_eq!(found.collect::<BTreeMap<_, _>>(), expected, "{user:?}");
}

fn check_list(query: &ListQuery, expected: Option<BTreeSet<String>>) {
    let page = block_on(query.clone().limit(1000).read());
    match expected {
        Some(expected) => assert_eq!(ids(&page.expect("it is read").items), expected),
        None => assert_forbidden(page),
    }
}

fn check_total(query: &ListQuery, expected: Option<usize>) {
    check_number(block_on(query.total()).map(|total| total.count), expected);
}

fn check_number(found: Result<u64, Error>, expected: Option<usize>) {
    match expected {
        Some(expected) => assert_eq!(found.expect("it is counted"), expected as u64),
        None => assert_forbidden(found),
    }
}

fn ids(records: &[Record]) -> BTreeSet<String> {
    records.iter().map(|record| record.id().to_owned()).collect()
}

const DIARIES: &str = r#"
[entity.person]
id = "given"
fields.name = "text"
access.owner = "id"
access.read = ["owner"]
access.create = ["owner"]

[entity.diary]
fields.author = "ref person cascade"
fields.text = "text"
access.owner = "author"
access.read = ["owner"]
access.create = ["owner"]
access.update = ["owner"]
list.mine = { by = "author" }
"#;

#[test]
fn the_id_of_an_entity_can_be_its_owner() {
    let db = block_on(open(DIARIES, Arc::new(memory_store_at(&ManualClock::new()))));
    let (ann, bob) = (db.user(User::new("ann", [""; 0])), db.user(User::new("bob", [""; 0])));
    // Without an id, the person is the user.
    let created = block_on(ann.create("person", &json!({ "name": "Ann" }))).expect("it is allowed");
    assert_eq!(created.id(), "ann");
    assert_forbidden(block_on(bob.create("person", &json!({ "id": "cyn", "name": "Cyn" }))));
    assert!(block_on(ann.get("person", "ann")).unwrap().is_some());
    assert!(block_on(bob.get("person", "ann")).unwrap().is_none());
}

#[test]
fn a_list_by_owner_is_the_users_own_without_a_value() {
    let db = block_on(open(DIARIES, Arc::new(memory_store_at(&ManualClock::new()))));
    for id in ["ann", "bob"] {
        block_on(db.create("person", &json!({ "id": id, "name": id }))).expect("it is created");
        let document = json!({ "author": id, "text": "Dear diary" });
        block_on(db.create("diary", &document)).expect("it is created");
    }
    let ann = db.user(User::new("ann", [""; 0]));
    let page = block_on(ann.list("diary", "mine").read()).expect("it is read");
    assert_eq!(page.items.len(), 1);
    assert_eq!(page.items[0].get("author").and_then(|author| author.as_s()), Some("ann"));
}

#[test]
fn an_idempotency_key_is_that_of_one_user() {
    let db = block_on(open(DIARIES, Arc::new(memory_store_at(&ManualClock::new()))));
    for id in ["ann", "bob"] {
        block_on(db.create("person", &json!({ "id": id, "name": id }))).expect("it is created");
    }
    let write = |subject: &str| {
        let db = db.user(User::new(subject, [""; 0]));
        let change = Change::create("diary", &json!({ "text": "Secret" })).unwrap();
        block_on(db.transact_idempotent("key", vec![change])).expect("it is allowed")
    };
    let author = |done: Idempotent| {
        let record = done.records().remove(0).expect("it was created");
        record.get("author").and_then(|author| author.as_s()).map(str::to_owned)
    };
    assert_eq!(author(write("ann")).as_deref(), Some("ann"));
    assert_eq!(author(write("bob")).as_deref(), Some("bob"));
    assert!(matches!(write("bob"), Idempotent::Replayed(_)));
}

#[test]
fn all_entities_of_a_list_are_changed_by_writers_alone() {
    let db = block_on(open(DIARIES, Arc::new(memory_store_at(&ManualClock::new()))));
    let ann = db.user(User::new("ann", [""; 0]));
    let bulk = ann.list("diary", "mine").update_all(&json!({ "text": "" })).unwrap();
    assert_forbidden(block_on(bulk.start()));
    let writer = db.user(User::new("ann", ["writer"]));
    let query = writer.list("diary", "mine").by("author", "ann");
    block_on(query.update_all(&json!({ "text": "" })).unwrap().start()).expect("it is allowed");
}

const VAULTS: &str = r#"
[entity.vault]
id = "given"
fields.text = "text"

[entity.note]
id = "given"
fields.author = "text"
fields.words  = "text"
fields.area   = "text"
fields.tags   = "tags"
access.owner  = "author"
access.read   = ["owner"]
access.create = ["owner"]
access.update = ["owner"]
search.text   = { fields = "words" }
list.all = { facets = ["area", "author"] }
count.by = { split = ["area", "author"] }
"#;

fn vaults() -> (Db, Db) {
    let db = block_on(open(VAULTS, Arc::new(memory_store_at(&ManualClock::new()))));
    block_on(db.create("vault", &json!({ "id": "real", "text": "x" }))).expect("it is created");
    for (id, author, area) in [("a1", "ann", "m"), ("b1", "bob", "a"), ("b2", "bob", "z")] {
        let tags = json!({ "project": format!("{area}-project") });
        let note =
            json!({ "id": id, "author": author, "words": "layoffs", "area": area, "tags": tags });
        block_on(db.create("note", &note)).expect("it is created");
    }
    let ann = db.user(User::new("ann", [""; 0]));
    (db, ann)
}

/// A review found that errors told whether an id exists.
#[test]
fn errors_do_not_tell_what_exists() {
    let (_, ann) = vaults();
    let outcome = |result: Result<Record, Error>| result.expect_err("it is refused").to_string();
    let patch = json!({ "text": "y" });
    for id in ["real", "fake"] {
        assert_forbidden(block_on(ann.update("vault", id, &patch)));
        assert_forbidden(block_on(ann.delete("vault", id)));
        assert_forbidden(block_on(ann.put("vault", id, &patch)));
        assert_forbidden(block_on(ann.create("vault", &json!({ "id": id, "text": "y" }))));
    }
    for id in ["b1", "fake"] {
        let of_bob = json!({ "id": id, "author": "bob", "words": "", "area": "a", "tags": {} });
        assert_forbidden(block_on(ann.create("note", &of_bob)));
        assert_forbidden(block_on(ann.delete("note", id)));
        let found = outcome(block_on(ann.update("note", id, &json!({ "area": "q" }))));
        assert_eq!(found, format!("Not found: `note` with id `{id}`."));
    }
}

/// A review found that a full page had a cursor because of what others have, and that cursors could be
/// read.
#[test]
fn pages_and_cursors_tell_nothing_of_others() {
    let (db, ann) = vaults();
    let list = || ann.list("note", "all").limit(1);
    let find = FindTags { key: Some("project".to_owned()), ..FindTags::default() };
    let tags = block_on(list().tags(&find)).expect("they are counted");
    assert_eq!((tags.counts.len(), tags.next), (1, None));
    let facets = block_on(list().facet_values("area")).expect("they are counted");
    assert_eq!((facets.counts.len(), facets.next), (1, None));
    let counts = block_on(ann.count("note", "by").split("area").limit(1).read());
    let counts = counts.expect("they are counted");
    assert_eq!((counts.items.len(), counts.next), (1, None));
    // Those of everybody go on.
    let all = block_on(db.list("note", "all").limit(1).facet_values("area")).expect("all");
    assert!(all.next.is_some());
    let more = json!({ "id": "a2", "words": "", "area": "n", "tags": {} });
    block_on(ann.create("note", &more)).expect("it is allowed");
    let counts = block_on(ann.count("note", "by").split("area").limit(1).read());
    let next = counts.expect("they are counted").next.expect("another one follows");
    let page = block_on(ann.count("note", "by").split("area").limit(1).after(&next).read());
    let page = page.expect("the cursor is one");
    assert_eq!(page.items[0].values.get("area").and_then(|area| area.as_s()), Some("n"));
    assert_eq!(page.next, None);
    // The same position, for whom nothing is hidden.
    let plain =
        block_on(db.list("note", "all").limit(1).read()).expect("a page").next.expect("more");
    let hidden = block_on(list().read()).expect("a page").next.expect("more");
    // Version 1 and version 2, in base64.
    assert!(matches!(plain.as_bytes()[1], b'Q'..=b'Z' | b'a'..=b'f'), "{plain}");
    assert!(matches!(hidden.as_bytes()[1], b'g'..=b'v'), "{hidden}");
    let after = block_on(list().after(&hidden).read()).expect("the cursor is one");
    assert_eq!(ids(&after.items), BTreeSet::from(["a2".to_owned()]));
}

#[test]
fn an_entity_that_is_put_by_a_user_is_theirs() {
    let (_, ann) = vaults();
    let note = json!({ "words": "", "area": "q", "tags": {} });
    for _ in 0..2 {
        let put = block_on(ann.put("note", "n", &note)).expect("it is allowed");
        assert_eq!(put.get("author").and_then(|author| author.as_s()), Some("ann"));
    }
    assert!(matches!(block_on(ann.put("note", "b1", &note)), Err(Error::NotFound { .. })));
}

const FOLDERS: &str = r#"
[entity.folder]
fields.lead  = "text"
fields.name  = "text"
access.owner  = "lead"
access.read   = ["owner"]
access.create = ["owner"]
access.update = ["owner"]
unique = ["name"]
list.names = { order = "name", access = ["everyone"] }

[entity.paper]
parent = "folder"
on_parent_delete = "cascade"
fields.text = "text"
access.read   = ["parent"]
access.create = ["parent"]
list.of = { by = "folder" }

[entity.mark]
parent = "paper"
on_parent_delete = "cascade"
fields.text = "text"
access.read = ["parent"]
"#;

/// A list can have more readers than its kind has. A review found that `with` showed them the children of what
/// only its owner can read.
#[test]
fn whoever_reads_a_list_does_not_read_the_children_of_what_is_in_it() {
    let db = block_on(open(FOLDERS, Arc::new(memory_store_at(&ManualClock::new()))));
    let folder = json!({ "lead": "ann", "name": "Salaries" });
    let folder = block_on(db.create("folder", &folder)).expect("it is created");
    let paper = json!({ "folder": folder.id(), "text": "Secret" });
    let paper = block_on(db.create("paper", &paper)).expect("it is created");
    let mark = json!({ "paper": paper.id(), "text": "Secret" });
    block_on(db.create("mark", &mark)).expect("it is created");
    for (subject, papers) in [("ann", 1), ("bob", 0)] {
        let user = db.user(User::new(subject, [""; 0]));
        let page = block_on(user.list("folder", "names").read()).expect("it is for everyone");
        let trees = block_on(user.trees("folder", page.items, "papers.marks", None));
        let tree = trees.expect("they are read").remove(0);
        assert_eq!(tree.record.get("name").and_then(|name| name.as_s()), Some("Salaries"));
        assert_eq!(tree.children["papers"].items.len(), papers, "{subject}");
        assert_eq!(tree.to_json().contains("Secret"), papers > 0, "{subject}");
        let page = block_on(user.children("folder", folder.id(), Some("paper"), (10, None)));
        assert_eq!(page.expect("they are read").is_some(), papers > 0);
    }
}

#[test]
fn an_error_does_not_tell_who_has_a_unique_value() {
    let db = block_on(open(FOLDERS, Arc::new(memory_store_at(&ManualClock::new()))));
    let folder = json!({ "lead": "ann", "name": "Salaries" });
    let first = block_on(db.create("folder", &folder)).expect("it is created");
    let bob = db.user(User::new("bob", [""; 0]));
    let other = json!({ "lead": "bob", "name": "Salaries" });
    for (db, expected) in [(&db, Some(first.id().to_owned())), (&bob, None)] {
        match block_on(db.create("folder", &other)) {
            Err(Error::UniqueViolation { owner, .. }) => assert_eq!(owner, expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_cursor_of_one_user_shows_another_nothing_new() {
    let (_, ann) = vaults();
    let bob = Db::user(&ann, User::new("bob", [""; 0]));
    let all = |db: &Db| db.list("note", "all").limit(1);
    let next = block_on(all(&bob).read()).expect("a page").next.expect("another one follows");
    let after = block_on(all(&ann).after(&next).read());
    assert!(matches!(after, Err(Error::Cursor(_))), "{after:?}");
    let by = |db: &Db| db.count("note", "by").split("area").limit(1);
    let next = block_on(by(&bob).read()).expect("a page").next.expect("another one follows");
    let after = block_on(by(&ann).after(&next).read());
    assert!(matches!(after, Err(Error::Cursor(_))), "{after:?}");
}

/// A value that is given twice must not pass as one and be read as the other.
#[test]
fn a_query_is_limited_to_one_value_of_each_field() {
    let (_, ann) = vaults();
    let twice = ann.count("note", "by").only("author", "ann").only("author", "bob");
    assert!(!matches!(block_on(twice.total()), Ok(1..)));
    let twice = ann.count("note", "by").only("author", "bob").only("author", "ann");
    assert!(!matches!(block_on(twice.total()), Ok(1..)));
}

#[test]
fn a_reference_to_what_a_user_cannot_see_is_not_followed() {
    let db = block_on(open(DIARIES, Arc::new(memory_store_at(&ManualClock::new()))));
    for id in ["ann", "bob"] {
        block_on(db.create("person", &json!({ "id": id, "name": id }))).expect("it is created");
        let document = json!({ "author": id, "text": "Dear diary" });
        block_on(db.create("diary", &document)).expect("it is created");
    }
    // Whatever a program has read for somebody else.
    let page = block_on(db.list("diary", "mine").by("author", "bob").read()).expect("it is read");
    for (subject, is_seen) in [("ann", false), ("bob", true)] {
        let user = db.user(User::new(subject, [""; 0]));
        let trees = block_on(user.trees("diary", page.items.clone(), "author", None));
        assert_eq!(trees.expect("they are read")[0].refs["author"].is_some(), is_seen, "{subject}");
    }
}

const PAGES: &str = r#"
[entity.page]
id = "given"
fields.author = "text?"
fields.text   = "text"
access.owner  = "author"
access.read   = ["owner", "editor"]
access.update = ["owner", "editor"]
list.all = { facets = ["author"] }
"#;

fn pages_of_bob_and_nobody() -> Db {
    let db = block_on(open(PAGES, Arc::new(memory_store_at(&ManualClock::new()))));
    for page in [
        json!({ "id": "bobs", "author": "bob", "text": "x" }),
        json!({ "id": "nobodys", "text": "x" }),
    ] {
        block_on(db.create("page", &page)).expect("it is created");
    }
    db
}

#[test]
fn whoever_may_not_create_does_not_learn_from_a_replacement_what_exists() {
    let ann = pages_of_bob_and_nobody().user(User::new("ann", [""; 0]));
    for id in ["bobs", "nobodys", "missing"] {
        let put = block_on(ann.put("page", id, &json!({ "text": "y" })));
        assert!(matches!(put, Err(Error::NotFound { .. })), "{id}: {put:?}");
    }
}

#[test]
fn what_has_no_owner_belongs_to_nobody() {
    let ann = pages_of_bob_and_nobody().user(User::new("ann", [""; 0]));
    assert!(block_on(ann.get("page", "nobodys")).expect("it is read").is_none());
    check_list(&ann.list("page", "all"), Some(BTreeSet::new()));
}

#[test]
fn whoever_may_change_all_entities_takes_none_by_replacing_it() {
    let eve = pages_of_bob_and_nobody().user(User::new("eve", ["editor"]));
    let put = block_on(eve.put("page", "nobodys", &json!({ "text": "y" }))).expect("it is allowed");
    assert_eq!(put.get("author"), None);
}
