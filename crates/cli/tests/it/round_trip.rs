//! Export and import of random models and data: the copy has the same fields, and verifies.

use keyloom::Db;
use keyloom_testkit::model::{Draft, drafts};
use pollster::block_on;
use proptest::prelude::*;

use crate::process::{Folder, output};
use crate::random_data::{Thing, fill, open, scoped};

proptest! {
    #![proptest_config(ProptestConfig {
        // Each case starts several processes; `PROPTEST_CASES` sets another number.
        cases: std::env::var("PROPTEST_CASES").map_or(24, |cases| cases.parse().unwrap_or(24)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn exported_entities_are_imported_unchanged(draft in drafts(), seed in any::<u64>()) {
        round_trip(&draft, seed);
    }
}

fn round_trip(draft: &Draft, seed: u64) {
    let folder = Folder::new(&format!("round-trip-{seed:x}"));
    let model = folder.write("model.toml", draft.text());
    let [old, new] = ["old", "new"].map(|name| folder.path(name));
    let things = fill(draft, &old, seed);
    let lines = folder.path("lines");
    let (success, _, err) = output(&["export", &model, "--data", &old, "--output", &lines]);
    assert!(success, "{err}");
    let (success, out, err) = output(&["import", &model, "--data", &new, &lines, "--json"]);
    assert!(success, "{out}{err}");
    let (success, out, err) = output(&["verify", &model, "--data", &new]);
    assert!(success, "{out}{err}");
    let count = std::fs::read_to_string(&lines).unwrap().lines().count();
    assert_eq!(count, compare(draft, &things, (&old, &new)));
    let (success, again, err) = output(&["export", &model, "--data", &new]);
    assert!(success, "{err}");
    assert_eq!(again, std::fs::read_to_string(&lines).unwrap());
}

/// Asserts that both databases have the same things, and counts those that exist.
fn compare(draft: &Draft, things: &[Thing], (old, new): (&str, &str)) -> usize {
    let model = draft.model();
    let (old, new) = (open(draft, old), open(draft, new));
    let mut seen = 0;
    for thing in things {
        let kind = &model.entity(thing.kind).name;
        let get =
            |db: &Db| block_on(scoped(db, thing.tenant.as_ref()).get(kind, &thing.id)).unwrap();
        match (get(&old), get(&new)) {
            (None, None) => {}
            (Some(old), Some(new)) => {
                assert_eq!(old.fields(), new.fields());
                seen += 1;
            }
            (old, new) => panic!("{old:?} became {new:?}"),
        }
    }
    seen
}
