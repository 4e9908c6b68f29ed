//! Changed models: the message of each change, word by word, and laws over random models.
//!
//! A file of `tests/changes` has a model, `=== becomes`, the changed model, `===` with the outcome,
//! and the messages. `KEYLOOM_BLESS=1` rewrites the last part; review the diff.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use keyloom_model::{Evolution, Model, Refusal, check, evolve, render};
use keyloom_testkit::Random;
use keyloom_testkit::model::{Draft, DraftEntity, DraftType, EditKind, Verdict, draft, drafts};
use proptest::prelude::*;

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/changes");
    let entries = fs::read_dir(folder).expect("there are cases");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("it can be read").path()).collect();
    paths.sort();
    paths
}

fn model(text: &str) -> Model {
    check(text).unwrap_or_else(|errors| panic!("{}", render(&errors, "model.toml")))
}

fn outcome(old: &Model, new: &Model) -> String {
    match evolve(old, new) {
        Ok(evolution) => format!("allowed\n{evolution}\n"),
        Err(refusals) => {
            let texts: Vec<String> = refusals.iter().map(Refusal::to_string).collect();
            format!("refused\n{}\n", texts.join("\n"))
        }
    }
}

#[test]
fn every_change_has_its_message() {
    let bless = std::env::var_os("KEYLOOM_BLESS").is_some();
    for path in cases() {
        let case = fs::read_to_string(&path).expect("it can be read");
        let parts: Vec<&str> = case.split("=== ").collect();
        let [old, new, expected] = parts.as_slice() else { panic!("{path:?} needs three parts") };
        let new = new.strip_prefix("becomes\n").expect("it says what becomes of it");
        let found = outcome(&model(old), &model(new));
        if bless {
            let whole = format!("{old}=== becomes\n{new}=== {found}");
            fs::write(&path, whole).expect("it can be written");
        } else {
            assert_eq!(found, *expected, "{}", path.display());
        }
    }
}

/// The names of the rewritten entities, which are comparable between models.
fn rewritten(new: &Model, evolution: &Evolution) -> BTreeSet<String> {
    let entities = evolution.rewritten().into_keys();
    entities.map(|id| new.entity(id).name.clone()).collect()
}

fn pending_lists(new: &Model, evolution: &Evolution) -> BTreeSet<(String, String)> {
    let lists = evolution.pending_lists().map(|(id, list)| {
        let entity = new.entity(id);
        (entity.name.clone(), entity.list(list).name.clone())
    });
    lists.collect()
}

fn allowed(old: &Draft, new: &Draft) -> Evolution {
    evolve(&old.model(), &new.model()).unwrap_or_else(|refusals| {
        let texts: Vec<String> = refusals.iter().map(Refusal::to_string).collect();
        panic!("{}\n--- of\n{}\n--- to\n{}", texts.join("\n"), old.text(), new.text())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_model_that_stays_the_same_changes_nothing(draft in drafts()) {
        let evolution = allowed(&draft, &draft);
        prop_assert!(evolution.is_empty(), "{}\n{}", evolution, draft.text());
    }

    #[test]
    fn each_edit_gets_its_verdict(draft in drafts(), seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for kind in EditKind::ALL {
            let Some(edit) = kind.apply(&draft, &mut random) else { continue };
            let result = evolve(&draft.model(), &edit.draft.model());
            let verdict = match &result {
                Ok(evolution) if evolution.is_empty() => Verdict::Same,
                Ok(_) => Verdict::Allowed,
                Err(_) => Verdict::Refused,
            };
            prop_assert_eq!(
                verdict, kind.verdict(),
                "{:?}: {:?}\n{}\n--- becomes\n{}", kind, result, draft.text(), edit.draft.text()
            );
        }
    }

    /// Two steps cost no less than one: whatever the combined change rewrites, one of the steps
    /// rewrites too.
    #[test]
    fn allowed_edits_combine_to_an_allowed_edit_that_costs_no_more(
        start in drafts(),
        seed in any::<u64>(),
    ) {
        let mut random = Random::new(seed);
        let Some(middle) = allowed_edit(&start, &mut random) else { return Ok(()) };
        let Some(end) = allowed_edit(&middle, &mut random) else { return Ok(()) };
        let (first, second, whole) =
            (allowed(&start, &middle), allowed(&middle, &end), allowed(&start, &end));
        let (middle, end_model) = (middle.model(), end.model());
        let halves = &rewritten(&middle, &first) | &rewritten(&end_model, &second);
        prop_assert!(
            rewritten(&end_model, &whole).is_subset(&halves),
            "{}\n{}\n{}", first, second, whole
        );
        let halves = &pending_lists(&middle, &first) | &pending_lists(&end_model, &second);
        prop_assert!(pending_lists(&end_model, &whole).is_subset(&halves));
    }

    #[test]
    fn an_edit_rewrites_what_it_must_and_nothing_else(draft in drafts(), seed in any::<u64>()) {
        let mut random = Random::new(seed);
        for kind in EditKind::ALL.iter().filter(|kind| kind.verdict() == Verdict::Allowed) {
            let Some(edit) = kind.apply(&draft, &mut random) else { continue };
            check_cost(*kind, (&draft, &edit.draft));
        }
    }
}

/// An edit whose verdict does not depend on earlier edits: a field that the first edit added could
/// not have been added without its default, and only the model in between says that an entity or a
/// field was renamed twice.
fn allowed_edit(draft: &Draft, random: &mut Random) -> Option<Draft> {
    let by_steps = [
        EditKind::ChangeDefault,
        EditKind::RenameEntity,
        EditKind::RenameField,
        EditKind::RemoveField,
        EditKind::MakeRequired,
        EditKind::NarrowRange,
        EditKind::ConvertType,
    ];
    let fit = |kind: &&EditKind| kind.verdict() != Verdict::Refused && !by_steps.contains(kind);
    let kinds: Vec<EditKind> = EditKind::ALL.iter().filter(fit).copied().collect();
    random.pick(&kinds).apply(draft, random).map(|edit| edit.draft)
}

/// Compares the reported cost with the differences of the drafts.
fn check_cost(kind: EditKind, (old, new): (&Draft, &Draft)) {
    let evolution = allowed(old, new);
    let model = new.model();
    let story = || format!("{kind:?}\n{evolution}\n{}\n--- becomes\n{}", old.text(), new.text());
    let rewritten = rewritten(&model, &evolution).len();
    let lists = pending_lists(&model, &evolution);
    let uniques = evolution.pending_uniques().count();
    let changed = changed_lists(old, new);
    if has_ordinals_changed(&old.model(), &model) {
        assert_eq!((rewritten, uniques), (1, 0), "{}", story());
        return;
    }
    match kind {
        EditKind::AddList | EditKind::ChangeOrder => {
            assert_eq!(lists, changed, "{}", story());
            assert_eq!((rewritten, lists.len(), uniques), (1, 1, 0), "{}", story());
        }
        EditKind::AddUnique => {
            assert_eq!((rewritten, lists.len(), uniques), (1, 0, 1), "{}", story());
            let (entity, unique) = evolution.pending_uniques().next().expect("there is one");
            let newest = model.entity(entity).uniques.len() - 1;
            assert_eq!(unique.index(), newest, "{}", story());
        }
        EditKind::RemoveList
        | EditKind::RemoveUnique
        | EditKind::ChangeExpiry
        | EditKind::RemoveField
        | EditKind::AddDefaultedField => {
            assert_eq!((rewritten, lists.len(), uniques), (1, 0, 0), "{}", story());
        }
        EditKind::PrependMember | EditKind::RemoveMember => {
            assert_eq!(lists, lists_by_changed_enums(old, new), "{}", story());
            assert_eq!((rewritten == 1, uniques), (!lists.is_empty(), 0), "{}", story());
        }
        EditKind::AddCount | EditKind::AddBoard => {
            assert_eq!((rewritten, lists.len(), uniques), (1, 0, 0), "{}", story());
            let built = evolution.pending_counts().count() + evolution.pending_boards().count();
            assert_eq!(built, 1, "{}", story());
        }
        EditKind::MakeOptional | EditKind::MakeRequired => {
            let is_summed = has_sum_of_new_optional(old, new);
            let expected = (usize::from(is_summed), 0, 0);
            assert_eq!((rewritten, lists.len(), uniques), expected, "{}", story());
        }
        EditKind::ChangeNumbers => {
            assert_eq!((rewritten, lists.len(), uniques), (1, 0, 0), "{}", story());
        }
        EditKind::ChangeShards => {
            assert_eq!(lists, &changed | &lists_of_changed_shards(old, new), "{}", story());
            assert_eq!((rewritten, uniques), (1, 0), "{}", story());
        }
        EditKind::ChangeFacets | EditKind::ChangeFilters | EditKind::ChangeSearch => {
            assert_eq!((rewritten, uniques), (1, 0), "{}", story());
        }
        // What names the field is rebuilt, or removed with it.
        EditKind::ConvertType => assert!(rewritten <= 1, "{}", story()),
        _ => assert_eq!((rewritten, lists.len(), uniques), (0, 0, 0), "{}", story()),
    }
}

/// Whether the edit added ordinals to an entity or removed them.
fn has_ordinals_changed(old: &Model, new: &Model) -> bool {
    let is_other = |(_, entity): (_, &keyloom_model::Entity)| {
        let before = old.find(&entity.name).map(|id| old.entity(id));
        before.is_some_and(|before| before.has_ordinals() != entity.has_ordinals())
    };
    new.entities().any(is_other)
}

fn changed_lists(old: &Draft, new: &Draft) -> BTreeSet<(String, String)> {
    let mut changed = BTreeSet::new();
    for entity in &new.entities {
        let before = old.entities.iter().find(|other| other.name == entity.name);
        let lists = entity.lists.iter();
        let fresh = lists.filter(|list| before.is_some_and(|before| !before.lists.contains(list)));
        changed.extend(fresh.map(|list| (entity.name.clone(), list.name.clone())));
    }
    changed
}

/// Lists without `by` have the shards of their entity.
fn lists_of_changed_shards(old: &Draft, new: &Draft) -> BTreeSet<(String, String)> {
    let entities = old.entities.iter().zip(&new.entities);
    let changed = entities.filter(|(before, entity)| before.shards != entity.shards);
    let whole = changed.flat_map(|(_, entity)| {
        let lists = entity.lists.iter().filter(|list| list.by.is_empty());
        lists.map(|list| (entity.name.clone(), list.name.clone()))
    });
    whole.collect()
}

fn lists_by_changed_enums(old: &Draft, new: &Draft) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for (before, entity) in old.entities.iter().zip(&new.entities) {
        let is_changed = |name: &str| {
            let of = entity.field(name).map(|field| &field.of);
            matches!(of, Some(DraftType::Enum(_)))
                && before.field(name).map(|field| &field.of) != of
        };
        let ordered = entity.lists.iter();
        let ordered = ordered.filter(|list| list.order.iter().any(|(field, _)| is_changed(field)));
        found.extend(ordered.map(|list| (entity.name.clone(), list.name.clone())));
    }
    found
}

/// Whether a count adds up a field that was required: rows then also hold how many entities have it.
fn has_sum_of_new_optional(old: &Draft, new: &Draft) -> bool {
    old.entities.iter().zip(&new.entities).any(|(before, entity)| {
        let presence = |entity: &DraftEntity, name: &str| entity.field(name).map(|f| f.presence);
        let is_new = |name: &String| presence(before, name) != presence(entity, name);
        entity.counts.iter().any(|count| count.sums.iter().any(is_new))
    })
}

#[test]
fn every_refusal_names_its_entity_and_ends_without_a_full_stop() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let draft = draft(&mut random);
        for kind in EditKind::ALL.iter().filter(|kind| kind.verdict() == Verdict::Refused) {
            let Some(edit) = kind.apply(&draft, &mut random) else { continue };
            let refusals = evolve(&draft.model(), &edit.draft.model()).expect_err("it is refused");
            for refusal in refusals {
                let own = format!("`{}", refusal.entity());
                assert!(refusal.reason().contains(&own), "{refusal}");
                assert!(!refusal.help().is_empty() && !refusal.help().ends_with('.'), "{refusal}");
            }
        }
    }
}

/// Values of `split` and of facets are in keys in an order of their own, which was that of the names in
/// the model: after a field was renamed, counters were looked for where they were not.
#[test]
fn a_renamed_field_keeps_its_place_in_keys() {
    let declared = |first: &str, renamed: &str| {
        model(&format!(
            "[entity.task]\nfields.{first} = 'enum(x, y)'\nfields.b = 'enum(x, y)'\n{renamed}\n\
             list.all = {{ facets = ['b', '{first}'] }}\n\
             count.all = {{ split = ['b', '{first}'] }}\n"
        ))
    };
    let old = declared("a", "");
    let new = declared("z", "renamed.z = 'a'").following(&old);
    let again = declared("z", "").with_stored_names(&new.stored_names());
    for model in [&old, &new, &again] {
        let task = model.entity(model.find("task").expect("it is declared"));
        let stored = |ids: &[keyloom_model::FieldId]| -> Vec<String> {
            ids.iter().map(|id| task.field(*id).stored.clone()).collect()
        };
        assert_eq!(stored(&task.counts[0].split), ["a", "b"]);
        assert_eq!(stored(&task.lists[0].facets), ["a", "b"]);
    }
}
