//! Random histories of comments: facets, ranges, counts and a leaderboard.

use futures_util::TryStreamExt;
use keyloom::{BoardQuery, Change, CountQuery, Filter as PlainFilter, Item, Ranked, Value};
use keyloom_testkit::{Random, cases};
use keyloom_typed::{Filter, Id, Time, Version};
use keyloom_typed_example::comments::{
    Comment, CommentByProductCount, CommentByProductList, CommentPatch, Database, MODEL, NewComment,
};
use pollster::block_on;

use crate::twins::{Shown, Twins, check_list, plain_result, typed_result};

const PRODUCTS: [&str; 3] = ["42", "43", "a b"];
const LANGUAGES: [&str; 3] = ["en", "fr", "de"];

impl Shown for Comment {
    fn item(&self) -> Item {
        Item::from([
            ("id", Value::from(self.id.as_str())),
            ("version", Value::from(self.version.as_str())),
            ("product", Value::from(self.product.as_str())),
            ("language", Value::from(self.language.as_str())),
            ("rating", Value::from(self.rating)),
            ("created", Value::from(self.created.ms())),
            ("body", self.body.clone()),
        ])
    }
}

/// A history, and the entities that it has created.
struct History {
    twins: Twins,
    db: Database,
    random: Random,
    known: Vec<(String, String)>,
}

impl History {
    fn new(seed: u64) -> History {
        let twins = Twins::open(MODEL);
        let db = Database::from(twins.typed.clone());
        History { twins, db, random: Random::new(seed), known: vec![] }
    }

    /// A new comment, both ways. It may be invalid.
    fn new_comment(&mut self) -> (NewComment, Item) {
        let random = &mut self.random;
        let (product, language) = (*random.pick(&PRODUCTS), *random.pick(&LANGUAGES));
        let (rating, body) = (1 + random.below(6) as i64, Value::from(random.below(9)));
        let created = random.chance(1, 2).then(|| random.below(50) as i64);
        let mut item = Item::from([
            ("product", Value::from(product)),
            ("language", Value::from(language)),
            ("rating", Value::from(rating)),
            ("body", body.clone()),
        ]);
        if let Some(created) = created {
            item.insert("created", created);
        }
        let comment = NewComment {
            created: created.map(Time::from_ms),
            ..NewComment::new(product, language, rating, body)
        };
        (comment, item)
    }

    /// A patch, both ways.
    fn patch(&mut self) -> (CommentPatch, Item) {
        let random = &mut self.random;
        let (mut patch, mut item) = (CommentPatch::new(), Item::new());
        if random.chance(1, 2) {
            let language = *random.pick(&LANGUAGES);
            patch = patch.set_language(language);
            item.insert("language", language);
        }
        let rating = random.below(7) as i64 - 3;
        if random.chance(1, 2) {
            patch = patch.add_rating(rating);
            item.insert("rating", Value::M(Item::from([("$add", rating)])));
        } else {
            patch = patch.set_rating(rating.abs()).set_body("text");
            item.insert("rating", rating.abs());
            item.insert("body", "text");
        }
        (patch, item)
    }

    /// The id of a comment, which may be gone, and a version that it may have.
    fn known(&mut self) -> (String, Version) {
        let unknown = ("unknown".to_owned(), "1".to_owned());
        let (id, version) = match self.known.is_empty() || self.random.chance(1, 20) {
            true => unknown,
            false => self.random.pick(&self.known).clone(),
        };
        (id, Version::new(version))
    }

    fn remember(&mut self, result: &Result<Item, String>) {
        if let Ok(item) = result {
            let text = |name| item.get(name).and_then(Value::as_s).unwrap().to_owned();
            let (id, version) = (text("id"), text("version"));
            self.known.retain(|(known, _)| *known != id || self.random.chance(1, 4));
            self.known.push((id, version));
        }
    }

    fn step(&mut self) {
        self.twins.clock.advance_ms(self.random.below(3));
        match self.random.below(6) {
            0 | 1 => self.create(),
            2 => self.update(),
            3 => self.replace(),
            4 => self.delete(),
            _ => self.transact(),
        }
    }

    fn create(&mut self) {
        let (comment, item) = self.new_comment();
        let plain = Change::create_item("comment", item);
        if self.random.chance(1, 3) {
            let key = format!("key {}", self.random.below(3));
            let typed =
                block_on(async { self.db.comment().create(comment).idempotent(&key).await });
            let plain = block_on(self.twins.plain.transact_idempotent(&key, vec![plain]));
            let plain = plain.map(|done| done.records().remove(0).unwrap());
            assert_eq!(typed_result(typed), plain_result(plain));
            return;
        }
        let typed = typed_result(block_on(async { self.db.comment().create(comment).await }));
        let plain = block_on(self.twins.plain.transact(vec![plain]));
        assert_eq!(typed, plain_result(plain.map(|mut records| records.remove(0).unwrap())));
        self.remember(&typed);
    }

    fn update(&mut self) {
        let ((id, version), (patch, item)) = (self.known(), self.patch());
        let mut typed = self.db.comment().patch(&Id::new(&id), patch);
        let mut plain = Change::update_item("comment", &id, item);
        if self.random.chance(1, 2) {
            typed = typed.if_version(&version);
            plain = plain.expecting(version.as_str());
        }
        let typed = typed_result(block_on(async { typed.await }));
        let plain = block_on(self.twins.plain.transact(vec![plain]));
        assert_eq!(typed, plain_result(plain.map(|mut records| records.remove(0).unwrap())));
        self.remember(&typed);
    }

    fn replace(&mut self) {
        let ((id, _), (comment, item)) = (self.known(), self.new_comment());
        let typed = block_on(async { self.db.comment().replace(&Id::new(&id), comment).await });
        let plain =
            block_on(self.twins.plain.transact(vec![Change::put_item("comment", &id, item)]));
        let typed = typed_result(typed);
        assert_eq!(typed, plain_result(plain.map(|mut records| records.remove(0).unwrap())));
        self.remember(&typed);
    }

    fn delete(&mut self) {
        let (id, version) = self.known();
        let (mut typed, mut plain) =
            (self.db.comment().delete(&Id::new(&id)), Change::delete("comment", &id));
        if self.random.chance(1, 2) {
            typed = typed.if_version(&version);
            plain = plain.expecting(version.as_str());
        }
        let typed = block_on(async { typed.await }).map_err(|error| error.to_string());
        let plain = block_on(self.twins.plain.transact(vec![plain]));
        assert_eq!(typed, plain.map(drop).map_err(|error| error.to_string()));
    }

    fn transact(&mut self) {
        let ((id, _), (patch, patch_item)) = (self.known(), self.patch());
        let new: Vec<(NewComment, Item)> = (0..2).map(|_| self.new_comment()).collect();
        let mut plain = vec![Change::update_item("comment", &id, patch_item)];
        plain.extend(new.iter().map(|(_, item)| Change::create_item("comment", item.clone())));
        let new: Vec<_> = new.into_iter().map(|(comment, _)| Comment::create(comment)).collect();
        let changes = (Comment::patch(&Id::new(&id), patch), new);
        let typed = block_on(async { self.db.transact(changes).await });
        let typed = typed.map_err(|error| error.to_string()).map(|(patched, created)| {
            std::iter::once(patched).chain(created).map(|comment| comment.item()).collect()
        });
        let plain = block_on(self.twins.plain.transact(plain)).map_err(|error| error.to_string());
        let plain: Result<Vec<Item>, String> =
            plain.map(|records| records.iter().flatten().map(crate::twins::item_of).collect());
        assert_eq!(typed, plain);
    }

    fn check(&mut self) {
        for (id, _) in &self.known {
            let typed = block_on(self.db.comment().get(&Id::new(id))).unwrap();
            let plain = block_on(self.twins.plain.get("comment", id)).unwrap();
            assert_eq!(
                typed.map(|comment| comment.item()),
                plain.as_ref().map(crate::twins::item_of)
            );
        }
        for product in PRODUCTS {
            self.check_list(product);
            self.check_counts(product);
        }
        self.check_board();
    }

    fn check_list(&mut self, product: &str) {
        let mut typed = self.db.comment().list_by_product(product);
        let mut plain = self.twins.plain.list("comment", "by_product").by("product", product);
        if self.random.chance(1, 2) {
            let language = *self.random.pick(&LANGUAGES);
            typed = typed.filter(CommentByProductList::language_is(language));
            plain = plain.facet("language", [language]);
        }
        if self.random.chance(1, 2) {
            let ratings = [1 + self.random.below(5) as i64, 1 + self.random.below(5) as i64];
            let is = |rating: i64| CommentByProductList::rating_is(rating);
            let any = Filter::any([is(ratings[0]), is(ratings[1]).not()]);
            typed = typed.filter(any);
            let is = |rating: i64| PlainFilter::facet("rating", rating);
            plain = plain.filter(PlainFilter::any([is(ratings[0]), is(ratings[1]).not()]));
        }
        let total = block_on(typed.total()).unwrap();
        assert_eq!(total, block_on(plain.total()).unwrap());
        let values = block_on(typed.facet_values(CommentByProductList::rating_values(), None));
        let values =
            values.unwrap().items.into_iter().map(|rating| (rating.value.into(), rating.count));
        let plain_values = block_on(plain.facet_values("rating")).unwrap().counts;
        let plain_values = plain_values.into_iter().map(|rating| (rating.value, rating.count));
        assert_eq!(values.collect::<Vec<(Value, u64)>>(), plain_values.collect::<Vec<_>>());
        let (low, high) = (self.random.below(30) as i64, 20 + self.random.below(30) as i64);
        if self.random.chance(1, 2) {
            let range = Time::from_ms(low)..Time::from_ms(high);
            typed = typed.range(CommentByProductList::created_range(range));
            plain = plain.at_least("created", low).less_than("created", high);
        }
        if self.random.chance(1, 3) {
            (typed, plain) = (typed.backward(), plain.backward());
        }
        check_list(typed, plain, 1 + self.random.below(5) as u32);
    }

    fn check_counts(&mut self, product: &str) {
        let typed = self.db.comment().count_by_product(product);
        let plain = self.twins.plain.count("comment", "by_product").by("product", product);
        let whole = block_on(typed.whole()).unwrap();
        assert_eq!(whole.count, block_on(plain.total()).unwrap());
        assert_eq!(block_on(typed.total()).unwrap(), whole.count);
        assert_eq!((whole.language, whole.rating), (None, None));
        let typed = typed.split(CommentByProductCount::by_language()).limit(2);
        let plain = plain.split("language").limit(2);
        let rated = 1 + self.random.below(5) as i64;
        let both = (
            typed.clone().split(CommentByProductCount::by_rating()),
            plain.clone().split("rating"),
        );
        let only =
            (typed.only(CommentByProductCount::rating_is(rated)), plain.only("rating", rated));
        for (typed, plain) in [both, only] {
            let counted: Vec<_> = block_on(typed.items().try_collect()).unwrap();
            let counted = counted.into_iter().map(|counted| {
                let mut values = Item::new();
                counted
                    .language
                    .into_iter()
                    .for_each(|value| drop(values.insert("language", value)));
                counted.rating.into_iter().for_each(|value| drop(values.insert("rating", value)));
                (values, counted.count)
            });
            assert_eq!(counted.collect::<Vec<_>>(), all_counts(plain));
        }
    }

    fn check_board(&mut self) {
        let typed = self.db.comment().board_leaders().limit(2);
        let plain = self.twins.plain.board("leaders").limit(2);
        let shown = |ranked: keyloom_typed::Ranked<String>| {
            (ranked.rank, ranked.score, Value::from(ranked.of))
        };
        let plainly = |ranked: Ranked| (ranked.rank, ranked.score, ranked.of);
        let items: Vec<_> = block_on(typed.clone().items().try_collect()).unwrap();
        let items: Vec<_> = items.into_iter().map(shown).collect();
        assert_eq!(items, all_ranked(plain.clone()).into_iter().map(plainly).collect::<Vec<_>>());
        for product in PRODUCTS {
            let rank = block_on(typed.rank(&product.to_owned())).unwrap().map(shown);
            assert_eq!(rank, block_on(plain.rank(product)).unwrap().map(plainly));
            let around = block_on(typed.around(&product.to_owned())).unwrap();
            let around = around.map(|all| all.into_iter().map(shown).collect::<Vec<_>>());
            let expected = block_on(plain.around(product)).unwrap();
            assert_eq!(around, expected.map(|all| all.into_iter().map(plainly).collect()));
        }
    }
}

fn all_counts(mut query: CountQuery) -> Vec<(Item, u64)> {
    let mut all = vec![];
    loop {
        let page = block_on(query.read()).unwrap();
        all.extend(page.items.into_iter().map(|counted| (counted.values, counted.count)));
        let Some(next) = page.next else { return all };
        query = query.after(next);
    }
}

fn all_ranked(mut query: BoardQuery) -> Vec<Ranked> {
    let mut all = vec![];
    loop {
        let page = block_on(query.read()).unwrap();
        all.extend(page.items);
        let Some(next) = page.next else { return all };
        query = query.after(next);
    }
}

#[test]
fn histories_with_types_are_those_without() {
    for seed in 0..u64::from(cases(40)) {
        println!("seed {seed}");
        let mut history = History::new(seed);
        for _ in 0..30 {
            history.step();
            if history.random.chance(1, 5) {
                history.check();
            }
        }
        history.check();
    }
}
