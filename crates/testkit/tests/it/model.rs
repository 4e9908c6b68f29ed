//! Random models are valid, cover every feature, and can be filled, shrunk and edited.

use std::collections::BTreeMap;

use keyloom_model::{
    CaseMode, DefaultValue, Direction, Entity, EntityId, Field, FieldAccess, FieldType,
    FormatChoice, IdSource, Limits, Model, OnDelete, Presence, Ranking, Tenancy, check, render,
};
use keyloom_testkit::Random;
use keyloom_testkit::model::{
    Draft, DraftType, EditKind, document, draft, drafts, given_id, patch,
};
use keyloom_value::{Item, Value};
use proptest::prelude::{ProptestConfig, Strategy, proptest};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const MODELS: u64 = 4_000;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_drawn_draft_is_valid(draft in drafts()) {
        draft.model();
    }
}

#[test]
fn every_draft_is_a_valid_model() {
    for seed in 0..MODELS {
        let text = draft(&mut Random::new(seed)).text();
        if let Err(errors) = check(&text) {
            panic!("seed {seed}\n{}\n{text}", render(&errors, "model.toml"));
        }
    }
}

#[test]
fn a_seed_always_gives_the_same_draft() {
    let once = |seed| draft(&mut Random::new(seed)).text();
    assert!((0..100).all(|seed| once(seed) == once(seed)));
    assert_ne!(once(1), once(2));
}

/// Counts how often each feature occurs. Every one must, or tests over these models prove less than
/// they seem to.
#[test]
fn all_features_are_covered() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..1_000 {
        let model = draft(&mut Random::new(seed)).model();
        for (id, entity) in model.entities() {
            let mut features: Vec<String> = entity_features(&model, (id, entity));
            features.extend(list_features(entity));
            features.extend(entity.fields.iter().flat_map(|field| field_features(field, id)));
            for feature in features {
                *seen.entry(feature).or_default() += 1;
            }
        }
    }
    for feature in FEATURES {
        let times = seen.get(*feature).copied().unwrap_or_default();
        assert!(times >= 20, "`{feature}` was reached {times} times of {seen:#?}");
    }
    let unknown: Vec<_> = seen.keys().filter(|seen| !FEATURES.contains(&seen.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?} are not in the table");
}

#[rustfmt::skip]
const FEATURES: &[&str] = &[
    "text", "int", "number", "bool", "time", "bytes", "any", "tags", "enum", "ref", "list", "map",
    "ref refuse", "ref cascade", "ref clear", "ref to itself", "ref required", "ref in a cycle",
    "list of references", "optional", "default", "default now", "optional with a default", "range", "nested",
    "a field called like an entity",
    "parent", "grandparent", "parent refuse", "parent cascade", "id given", "expires",
    "tenant own", "tenant inherited", "tenant ref",
    "unique", "unique combined", "unique within", "unique within the parent", "unique folded",
    "unique optional",
    "list without anything", "list by", "list by two", "list ascending", "list descending",
    "list by several", "list mixed", "list where", "list sparse", "list by the parent",
    "list facets", "list path", "list ordered by an enum", "list ordered by id",
    "read-only", "format", "format by an enum", "path", "count", "board of", "board rank", "combination", "handler",
];

fn entity_features(model: &Model, (id, entity): (EntityId, &Entity)) -> Vec<String> {
    let parent = entity.parent.map(|field| &entity.field(field).of);
    let parent_entity = match parent {
        Some(FieldType::Ref(parent, _)) => Some(model.entity(*parent)),
        _ => None,
    };
    let tenant = match entity.tenancy {
        Tenancy::Own(field) => Some(&entity.field(field).of),
        Tenancy::Shared | Tenancy::Inherited(_) => None,
    };
    let refers_back = |field: &Field| {
        let FieldType::Ref(target, _) = field.of else { return false };
        let back = |field: &Field| matches!(field.of, FieldType::Ref(other, _) if other == id);
        target != id && model.entity(target).fields.iter().any(back)
    };
    let is_entity = |field: &Field| model.find(&field.name).is_some();
    let is_optional = |id| entity.field(id).presence == Presence::Optional;
    let unique = |test: &dyn Fn(&keyloom_model::Unique) -> bool| entity.uniques.iter().any(test);
    let formats = |test: fn(&FormatChoice) -> bool| entity.formats.iter().any(|r| test(&r.choice));
    let found = [
        ("parent", parent.is_some()),
        ("grandparent", parent_entity.is_some_and(|parent| parent.parent.is_some())),
        ("parent refuse", matches!(parent, Some(FieldType::Ref(_, OnDelete::Refuse)))),
        ("parent cascade", matches!(parent, Some(FieldType::Ref(_, OnDelete::Cascade)))),
        ("id given", entity.id_source == IdSource::Given),
        ("expires", entity.expires.is_some()),
        ("tenant own", tenant.is_some()),
        ("tenant ref", matches!(tenant, Some(FieldType::Ref(..)))),
        ("tenant inherited", matches!(entity.tenancy, Tenancy::Inherited(_))),
        ("ref in a cycle", entity.fields.iter().any(refers_back)),
        ("a field called like an entity", entity.fields.iter().any(is_entity)),
        ("unique", !entity.uniques.is_empty()),
        ("unique combined", unique(&|unique| unique.fields.len() > 1)),
        ("unique within", unique(&|unique| unique.within.is_some())),
        (
            "unique within the parent",
            unique(&|unique| unique.within.is_some() && unique.within == entity.parent),
        ),
        ("unique folded", unique(&|unique| unique.case == CaseMode::Folded)),
        ("unique optional", unique(&|unique| unique.fields.iter().any(|id| is_optional(*id)))),
        ("read-only", entity.fields.iter().any(|field| field.access == FieldAccess::ReadOnly)),
        ("format", formats(|choice| matches!(choice, FormatChoice::Always(_)))),
        ("format by an enum", formats(|choice| matches!(choice, FormatChoice::By(..)))),
        ("path", entity.path.starts_with("/at/")),
        ("count", !entity.counts.is_empty()),
        ("board of", entity.boards.iter().any(|b| matches!(b.ranking, Ranking::Count(_)))),
        ("board rank", entity.boards.iter().any(|b| matches!(b.ranking, Ranking::Field(_)))),
        ("combination", !entity.combinations.is_empty()),
        ("handler", model.handlers().iter().any(|handler| handler.entity == id)),
    ];
    holding(&found)
}

fn list_features(entity: &Entity) -> Vec<String> {
    let field = |id| entity.field(id);
    let mut features = vec![];
    for list in &entity.lists {
        let goes = |way| list.order.iter().any(|order| order.direction == way);
        let mut keys = list.by.iter().copied().chain(list.order.iter().map(|order| order.field));
        let ordered = |test: fn(&Field) -> bool| list.order.iter().any(|o| test(field(o.field)));
        let by_parent = list.by.iter().any(|id| Some(*id) == entity.parent);
        let found = [
            ("list without anything", list.by.is_empty() && list.order.is_empty()),
            ("list by", !list.by.is_empty()),
            ("list by two", list.by.len() == 2),
            ("list by the parent", by_parent),
            ("list ascending", goes(Direction::Ascending)),
            ("list descending", goes(Direction::Descending)),
            ("list by several", list.order.len() > 1),
            ("list mixed", goes(Direction::Ascending) && goes(Direction::Descending)),
            ("list where", !list.filter.is_empty()),
            ("list sparse", keys.any(|id| field(id).presence == Presence::Optional)),
            ("list facets", !list.facets.is_empty()),
            ("list path", list.path.is_some()),
            ("list ordered by an enum", ordered(|field| matches!(field.of, FieldType::Enum(_)))),
            ("list ordered by id", ordered(|field| field.name == "id")),
        ];
        features.extend(holding(&found));
    }
    features
}

fn field_features(field: &Field, own: EntityId) -> Vec<String> {
    let is_optional = field.presence == Presence::Optional;
    let is_ranged = match &field.of {
        FieldType::Text(limits) | FieldType::Bytes(limits) => *limits != Limits::NONE,
        FieldType::List(_, limits) | FieldType::Map(_, limits) => *limits != Limits::NONE,
        FieldType::Int(limits) => *limits != Limits::NONE,
        FieldType::Number(limits) => *limits != Limits::NONE,
        _ => false,
    };
    let is_nested = match &field.of {
        FieldType::List(of, _) | FieldType::Map(of, _) => {
            matches!(**of, FieldType::List(..) | FieldType::Map(..))
        }
        _ => false,
    };
    let is_list_of_references =
        matches!(&field.of, FieldType::List(of, _) if matches!(**of, FieldType::Ref(..)));
    let reference = match field.of {
        FieldType::Ref(target, rule) => Some((target, rule)),
        _ => None,
    };
    let rule = reference.map(|(_, rule)| rule);
    let found = [
        (field.of.name(), true),
        ("optional", is_optional),
        ("default", field.default.is_some()),
        ("default now", field.default == Some(DefaultValue::Now)),
        ("optional with a default", is_optional && field.default.is_some()),
        ("range", is_ranged),
        ("nested", is_nested),
        ("list of references", is_list_of_references),
        ("ref to itself", reference.is_some_and(|(target, _)| target == own)),
        ("ref required", reference.is_some() && !is_optional),
        ("ref refuse", rule == Some(OnDelete::Refuse)),
        ("ref cascade", rule == Some(OnDelete::Cascade)),
        ("ref clear", rule == Some(OnDelete::Clear)),
    ];
    holding(&found)
}

fn holding(found: &[(&str, bool)]) -> Vec<String> {
    found.iter().filter(|(_, holds)| *holds).map(|(feature, _)| (*feature).to_owned()).collect()
}

/// Fills every entity as its references allow, in rounds, until a round creates nothing more.
#[test]
fn every_entity_can_be_filled_with_documents_of_its_types() {
    for seed in 0..1_000 {
        let mut random = Random::new(seed);
        let draft = draft(&mut random);
        let model = draft.model();
        let mut ids: BTreeMap<EntityId, Vec<String>> = BTreeMap::new();
        for _ in 0..5 {
            for (id, _) in model.entities() {
                let known = ids.clone();
                let candidates = |id| known.get(&id).cloned().unwrap_or_default();
                let Some(item) = document((&model, id), &candidates, &mut random) else { continue };
                check_document(&model, id, &item, &draft);
                ids.entry(id).or_default().push(given_id(&mut random));
                let patch = patch((&model, id), &candidates, &mut random);
                let mut patched = item;
                for (name, value) in patch {
                    match value {
                        Some(value) => drop(patched.insert(name, value)),
                        None => drop(patched.remove(name.as_str())),
                    }
                }
                check_document(&model, id, &patched, &draft);
            }
        }
        assert_eq!(ids.len(), model.entities().count(), "seed {seed}\n{}", draft.text());
    }
}

fn check_document(model: &Model, id: EntityId, item: &Item, draft: &Draft) {
    let entity = model.entity(id);
    assert!(!item.contains("id") && !item.contains("version"));
    for (name, value) in item {
        let field = entity.find_field(name.as_str()).expect("the field is in the model");
        let of = &entity.field(field).of;
        assert!(fits(value, of), "{name}: {value} is no {of:?}\n{}", draft.text());
    }
    for field in entity.fields.iter().skip(1) {
        let is_there = item.contains(&field.name);
        assert!(is_there || field.presence == Presence::Optional, "{} is missing", field.name);
    }
}

fn fits(value: &Value, of: &FieldType) -> bool {
    let length = |limits: &Limits<u64>, count: usize| limits.contains(&(count as u64));
    match (of, value) {
        (FieldType::Text(limits), Value::S(text)) => length(limits, text.chars().count()),
        (FieldType::Int(limits), Value::N(number)) => {
            number.to_i64().is_some_and(|value| limits.contains(&value))
        }
        (FieldType::Number(limits), Value::N(number)) => limits.contains(number),
        (FieldType::Bool, Value::Bool(_)) | (FieldType::Ref(..), Value::S(_)) => true,
        (FieldType::Time, Value::N(number)) => number.to_i64().is_some(),
        (FieldType::Bytes(limits), Value::B(bytes)) => length(limits, bytes.len()),
        (FieldType::Any, _) => true,
        (FieldType::Tags, Value::M(tags)) => tags.iter().all(|(_, v)| matches!(v, Value::S(_))),
        (FieldType::Enum(members), Value::S(member)) => members.contains(member),
        (FieldType::List(of, limits), Value::L(values)) => {
            length(limits, values.len()) && values.iter().all(|value| fits(value, of))
        }
        (FieldType::Map(of, limits), Value::M(values)) => {
            length(limits, values.len()) && values.iter().all(|(_, value)| fits(value, of))
        }
        _ => false,
    }
}

#[test]
fn every_kind_of_edit_is_found_often_and_is_valid() {
    let mut found: BTreeMap<EditKind, usize> = BTreeMap::new();
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let draft = draft(&mut random);
        for kind in EditKind::ALL {
            let Some(edit) = kind.apply(&draft, &mut random) else { continue };
            assert_ne!(edit.draft.model(), draft.model(), "{kind:?}\n{}", edit.draft.text());
            *found.entry(*kind).or_default() += 1;
        }
    }
    for kind in EditKind::ALL {
        let times = found.get(kind).copied().unwrap_or_default();
        assert!(times >= 20, "{kind:?} was possible {times} times of {found:#?}");
    }
}

/// A test that fails for every draft with a `where` in a list shrinks to little else. A `where` on a
/// reference would need its target, too.
#[test]
fn a_draft_that_fails_shrinks_to_what_matters() {
    let fails = |draft: &Draft| {
        draft.entities.iter().any(|entity| {
            let tests = entity.lists.iter().flat_map(|list| &list.filter);
            let mut fields = tests.filter_map(|test| entity.field(&test.field));
            fields.any(|field| !matches!(field.of, DraftType::Ref(..)))
        })
    };
    let mut runner = TestRunner::deterministic();
    let mut trees = (0..200).map(|_| drafts().new_tree(&mut runner).expect("there is a draft"));
    let mut tree = trees.find(|tree| fails(&tree.current())).expect("one has a where");
    let mut last = tree.current();
    loop {
        let current = tree.current();
        let goes_on = if fails(&current) {
            last = current;
            tree.simplify()
        } else {
            tree.complicate()
        };
        if !goes_on {
            break;
        }
    }
    assert!(last.try_model().is_some() && last.entities.len() == 1, "{}", last.text());
    let entity = &last.entities[0];
    assert!(entity.lists.len() == 1 && entity.fields.len() <= 2, "{}", last.text());
}
