//! Random models: their modules can be parsed, have no line that is too long for a reason of their own, and
//! are always the same. `examples/typed` compiles some of them: `KEYLOOM_BLESS=1` draws these anew.

use std::env;
use std::fs;
use std::path::Path;

use keyloom_build::Builder;
use keyloom_testkit::{Random, cases, model};

/// How many models `examples/typed` compiles.
const COMPILED: u64 = 6;

fn generate(text: &str) -> String {
    Builder::new().generate(text, "random.toml").unwrap()
}

#[test]
fn modules_of_random_models_can_be_parsed() {
    for seed in 0..cases(100).into() {
        let text = model::draft(&mut Random::new(seed)).text();
        let code = generate(&text);
        if let Err(error) = syn::parse_file(&code) {
            panic!("seed {seed}: {error}\n{text}\n{code}");
        }
        assert_eq!(code, generate(&text), "seed {seed}");
    }
}

#[test]
fn each_declared_query_has_one_method() {
    for seed in 0..cases(100).into() {
        let draft = model::draft(&mut Random::new(seed));
        let (declared, code) = (draft.model(), generate(&draft.text()));
        for (_, entity) in declared.entities() {
            let queries = entity.lists.len() + entity.counts.len() + entity.boards.len();
            let markers = code.matches(&format!(" of `{}`", entity.name)).count();
            assert!(markers >= queries - entity.boards.len(), "seed {seed}: {}", entity.name);
        }
        let all: usize =
            declared.entities().map(|(_, e)| e.lists.len() + e.counts.len() + e.boards.len()).sum();
        let methods = ["typed::List::new(", "typed::Count::new(", "typed::Board::new("];
        let methods: usize = methods.iter().map(|method| code.matches(method).count()).sum();
        assert_eq!(methods, all, "seed {seed}\n{code}");
    }
}

#[test]
fn the_models_that_the_example_compiles_are_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/typed/models");
    for index in 1..=COMPILED {
        let path = folder.join(format!("random_{index}.toml"));
        if env::var_os("KEYLOOM_BLESS").is_some() {
            // Large ones have more of everything.
            let drafts = (0..40).map(|n| model::draft(&mut Random::new(index * 1_000 + n)).text());
            fs::write(&path, drafts.max_by_key(String::len).unwrap()).unwrap();
        }
        generate(&fs::read_to_string(&path).unwrap());
    }
}
