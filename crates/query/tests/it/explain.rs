//! What `explain` draws of each strategy, where posting lists are sets and where they are chunks in rows.

use keyloom_model::{Image, Matching};
use keyloom_query::{Filter, Filters, ListRequest, Strategy};
use keyloom_value::{Item, Name, Value};
use pollster::FutureExt as _;

use crate::rig::{Rig, STORES};

const MODEL: &str = r#"
[entity.task]
fields.rank = "int"
fields.hot = "bool"
fields.team = "enum(red, blue)?"
fields.code = "text?"
fields.tags = "tags = {}"
tags.tags.combine = [["a", "b"]]
list.all = {}
list.ranked = { order = "rank" }
list.faceted = { order = "rank", facets = ["hot", "team"] }
list.coded = { order = "rank", facets = ["code", "hot"] }
"#;

const TASKS: u64 = 200;

/// A task by its ordinal, which is also its rank.
fn task(rig: &Rig, ordinal: u64) -> Image {
    let mut tags = Item::new();
    let mut add = |key: &str, value: &str, has: bool| {
        if has {
            tags.insert(Name::from(key), Value::from(value));
        }
    };
    add("late", "yes", ordinal >= TASKS / 2);
    add("rare", "yes", ordinal.is_multiple_of(70));
    add("a", "1", ordinal < 4);
    add("b", "2", ordinal < 8);
    let rank = Value::from(ordinal);
    let hot = Value::Bool(ordinal.is_multiple_of(2));
    let fields = [("rank", rank), ("hot", hot), ("tags", Value::M(tags))];
    let mut image = rig.image("task", &format!("t{ordinal:03}"), fields);
    if !ordinal.is_multiple_of(5) {
        image.fields.insert(Name::from("team"), Value::from("red"));
    }
    image.fields.insert(Name::from("code"), Value::from(format!("c{}", ordinal % 15).as_str()));
    image.ordinal = Some(ordinal);
    image
}

/// A filter by a tag, given as `key:value`.
fn tag(filters: Filters<'_>, tag: &str) -> Filter {
    let (key, value) = tag.split_once(':').unwrap();
    filters.tag(filters.entity.find_field("tags").unwrap(), key, value).unwrap()
}

fn facet(filters: Filters<'_>, name: &str, value: impl Into<Value>) -> Filter {
    filters.facet(filters.entity.find_field(name).unwrap(), value.into()).unwrap()
}

/// A query. Without a filter, everything passes.
struct Case {
    name: &'static str,
    list: &'static str,
    filter: fn(Filters<'_>) -> Option<Filter>,
    strategy: Strategy,
}

const CASES: &[Case] = &[
    Case { name: "no filter", list: "ranked", filter: |_| None, strategy: Strategy::Cheapest },
    Case {
        name: "a tag that nothing has",
        list: "ranked",
        filter: |f| Some(tag(f, "nobody:has")),
        strategy: Strategy::Cheapest,
    },
    Case {
        name: "a rare tag",
        list: "ranked",
        filter: |f| Some(tag(f, "rare:yes")),
        strategy: Strategy::Cheapest,
    },
    Case {
        name: "a tag whose entities are at the end of the list",
        list: "ranked",
        filter: |f| Some(tag(f, "late:yes")),
        strategy: Strategy::Cheapest,
    },
    Case {
        name: "all but a tag, in order of creation",
        list: "all",
        filter: |f| Some(tag(f, "late:yes").not()),
        strategy: Strategy::Cheapest,
    },
    Case {
        name: "a declared combination or any tag of a key",
        list: "all",
        filter: |f| {
            let (a, b) = (tag(f, "a:1"), tag(f, "b:2"));
            let field = f.entity.find_field("tags").unwrap();
            let rare = f.tag_key(field, "rare").unwrap();
            f.any(vec![f.all(vec![a, b]).unwrap(), rare]).ok()
        },
        strategy: Strategy::Cheapest,
    },
    Case {
        name: "values of facets, along the index keys by facet",
        list: "faceted",
        filter: |f| f.all(vec![facet(f, "hot", true), facet(f, "team", "red").not()]).ok(),
        strategy: Strategy::Merge,
    },
    Case {
        name: "a value of a facet, of which each code is a combination",
        list: "coded",
        filter: |f| Some(facet(f, "hot", true)),
        strategy: Strategy::Merge,
    },
    Case {
        name: "a value of a facet and a tag",
        list: "faceted",
        filter: |f| f.all(vec![facet(f, "hot", true), tag(f, "rare:yes")]).ok(),
        strategy: Strategy::Match,
    },
    Case {
        name: "a value of a facet, fetching each entity",
        list: "faceted",
        filter: |f| Some(facet(f, "hot", true)),
        strategy: Strategy::Walk,
    },
];

fn drawn(rig: &Rig, case: &Case) -> String {
    let (entity, list) = rig.list("task", case.list);
    let declared = rig.layout.model().entity(entity);
    let filter = (case.filter)(Filters { entity: declared, list });
    let strategy = case.strategy;
    let request = ListRequest { limit: 5, filter, strategy, ..ListRequest::new(entity, list) };
    let reader = rig.reader();
    let ran = reader.list_recorded(&request, &rig.cursors, None).block_on().unwrap().1;
    reader.explain(&request, &ran).block_on().unwrap().plan.to_string()
}

#[test]
fn explain_draws_every_strategy() {
    let forms = [(Matching::Sets, "sets"), (Matching::Chunks, "chunks")];
    let rig = |(matching, name)| {
        let rig = Rig::keeping(STORES[0].1, MODEL, matching);
        (0..TASKS).for_each(|ordinal| rig.put_with_postings(&task(&rig, ordinal)));
        (rig, name)
    };
    let rigs = forms.map(rig);
    let mut text = String::new();
    for case in CASES {
        for (rig, form) in &rigs {
            text.push_str(&format!("# {} ({form})\n\n{}\n", case.name, drawn(rig, case)));
        }
    }
    let path = format!("{}/tests/explained.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("KEYLOOM_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap(), "tests/explained.txt differs");
}
