//! Random histories of tasks: tags, and a list that tasks leave.

use keyloom::{Change, Filter as PlainFilter, FindTags, Item, Value};
use keyloom_testkit::{Random, cases};
use keyloom_typed::{Filter, Id};
use keyloom_typed_example::tasks::{
    Database, MODEL, NewTask, Task, TaskAllList, TaskOpenList, TaskPatch,
};
use pollster::block_on;

use crate::twins::{Shown, Twins, check_list, item_of};

const KEYS: [&str; 3] = ["project", "priority", "severity"];
const VALUES: [&str; 2] = ["high", "low"];

impl Shown for Task {
    fn item(&self) -> Item {
        let tags = self.tags.iter().map(|(key, value)| (key.into(), Value::from(value.as_str())));
        Item::from([
            ("id", Value::from(self.id.as_str())),
            ("version", Value::from(self.version.as_str())),
            ("name", Value::from(self.name.as_str())),
            ("description", Value::from(self.description.as_str())),
            ("done", Value::from(self.done)),
            ("tags", Value::M(tags.collect())),
        ])
    }
}

struct History {
    twins: Twins,
    db: Database,
    random: Random,
    ids: Vec<String>,
}

impl History {
    fn tag(&mut self) -> (&'static str, &'static str) {
        (*self.random.pick(&KEYS), *self.random.pick(&VALUES))
    }

    fn create(&mut self) {
        let tags: Vec<_> = (0..self.random.below(4)).map(|_| self.tag()).collect();
        let name = format!("task {}", self.random.below(9));
        let done = self.random.chance(1, 2).then(|| self.random.chance(1, 2));
        let tags = tags.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
        let new = NewTask { tags: Some(tags.collect()), done, ..NewTask::new(name.as_str()) };
        let members = new.tags.iter().flatten();
        let members = members.map(|(key, value)| (key.into(), Value::from(value.as_str())));
        let mut item =
            Item::from([("name", Value::from(name)), ("tags", Value::M(members.collect()))]);
        if let Some(done) = done {
            item.insert("done", done);
        }
        let typed = block_on(async { self.db.task().create(new).await }).unwrap();
        let plain = block_on(self.twins.plain.transact(vec![Change::create_item("task", item)]));
        assert_eq!(typed.item(), item_of(plain.unwrap()[0].as_ref().unwrap()));
        self.ids.push(typed.id.as_str().to_owned());
    }

    /// Sets some tags, removes others, and perhaps finishes the task.
    fn update(&mut self) {
        let id = self.random.pick(&self.ids).clone();
        let (set, removed) = (self.tag(), *self.random.pick(&KEYS));
        let done = self.random.chance(1, 2);
        let members = [(removed, None), (set.0, Some(set.1.to_owned()))];
        let patch = TaskPatch::new().merge_tags(members).set_done(done);
        let mut tags = Item::from([(removed, Value::Null)]);
        tags.insert(set.0, set.1);
        let item = Item::from([("tags", Value::M(tags)), ("done", Value::from(done))]);
        let typed = block_on(async { self.db.task().patch(&Id::new(&id), patch).await }).unwrap();
        let plain = Change::update_item("task", &id, item);
        let plain = block_on(self.twins.plain.transact(vec![plain])).unwrap();
        assert_eq!(typed.item(), item_of(plain[0].as_ref().unwrap()));
    }

    fn delete(&mut self) {
        let index = self.random.index(self.ids.len());
        let id = self.ids.remove(index);
        block_on(async { self.db.task().delete(&Id::new(&id)).await }).unwrap();
        block_on(self.twins.plain.delete("task", &id)).unwrap();
    }

    fn check(&mut self) {
        let ((first, one), (second, two)) = (self.tag(), self.tag());
        let any = |filters: [PlainFilter; 2]| PlainFilter::any(filters);
        let plain_filter = any([PlainFilter::tag(first, one), PlainFilter::has_tag(second).not()]);
        let filter = [TaskAllList::tag(first, one), TaskAllList::has_tag(second).not()];
        let all = self.db.task().list_all().filter(Filter::any(filter));
        let plain_all = self.twins.plain.list("task", "all").filter(plain_filter);
        assert_eq!(block_on(all.total()).unwrap(), block_on(plain_all.total()).unwrap());
        self.check_tags(first);
        check_list(all, plain_all, 1 + self.random.below(4) as u32);
        let open = self.db.task().list_open().filter(TaskOpenList::tag(second, two)).backward();
        let plain_open = self.twins.plain.list("task", "open").tag(second, two).backward();
        check_list(open, plain_open, 1 + self.random.below(4) as u32);
        check_list(self.db.task().list_open(), self.twins.plain.list("task", "open"), 3);
    }

    /// The tags of all tasks, page by page.
    fn check_tags(&self, key: &str) {
        for key in [None, Some(key.to_owned())] {
            let find = FindTags { key, ..FindTags::default() };
            let typed = self.db.task().list_all().limit(2);
            let (mut counts, mut after) = (vec![], None);
            loop {
                let page = block_on(typed.tags(&find, after)).unwrap();
                counts
                    .extend(page.items.into_iter().map(|tag| (Value::from(tag.value), tag.count)));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            let plain =
                block_on(self.twins.plain.list("task", "all").limit(100).tags(&find)).unwrap();
            let plain = plain.counts.into_iter().map(|tag| (tag.value, tag.count));
            assert_eq!(counts, plain.collect::<Vec<_>>());
        }
    }
}

#[test]
fn histories_with_types_are_those_without() {
    for seed in 0..u64::from(cases(40)) {
        println!("seed {seed}");
        let twins = Twins::open(MODEL);
        let db = Database::from(twins.typed.clone());
        let mut history = History { twins, db, random: Random::new(seed), ids: vec![] };
        for _ in 0..25 {
            match history.random.below(5) {
                0 | 1 => history.create(),
                2 | 3 if !history.ids.is_empty() => history.update(),
                4 if !history.ids.is_empty() => history.delete(),
                _ => history.create(),
            }
            if history.random.chance(1, 5) {
                history.check();
            }
        }
        history.check();
    }
}
