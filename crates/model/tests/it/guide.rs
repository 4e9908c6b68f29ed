//! `docs/model.md` is accurate: its examples are valid models, and its table has every code.

use keyloom_model::{Code, check, render};

const GUIDE: &str = include_str!("../../../../docs/model.md");

/// The start of each example, and the declarations that its section assumes.
const CONTEXTS: &[(&str, &str)] = &[
    ("[entity.category]", ""),
    ("fields.rating ", "[entity.person]\n[entity.a]\n"),
    ("[entity.method]", ""),
    ("[entity.part]", ""),
    ("[entity.issue]", ""),
    ("[entity.task]\nupdated", ""),
    ("[entity.project]", ""),
    (
        "unique = [",
        "[entity.search]\n[entity.a]\nparent = \"search\"\nfields.email = \"text\"\n\
         fields.first = \"text\"\nfields.last = \"text\"\nfields.position = \"int\"\n\
         fields.name = \"text\"\nfields.team = \"text\"\n",
    ),
    (
        "[entity.search.list.by_contact]",
        "[entity.search]\nfields.contact = \"text\"\nfields.status = \"text\"\n",
    ),
    ("[entity.product]\nfilters", ""),
    ("[entity.article]", ""),
    ("[entity.task]\nfields.tags", ""),
    (
        "[entity.comment.count.by_product]",
        "[entity.comment]\nfields.product = \"text\"\nfields.language = \"text\"\n\
         fields.rating = \"int\"\nfields.hidden = \"bool\"\n\
         [entity.player]\nfields.score = \"int\"\nfields.country = \"text\"\n\
         [entity.task]\nfields.labels = \"tags\"\n",
    ),
    (
        "[entity.sale.count.revenue]",
        "[entity.sale]\nfields.shop = \"text\"\nfields.channel = \"text\"\n\
         fields.price = \"number\"\nfields.weight = \"int?\"\n",
    ),
    (
        "[entity.sale.count.by_day]",
        "[entity.sale]\nfields.shop = \"text\"\nfields.channel = \"text\"\n\
         fields.price = \"number\"\nfields.paid = \"time\"\n",
    ),
    (
        "[entity.comment.board.leaders]",
        "[entity.comment]\nfields.product = \"text\"\nfields.language = \"text\"\n\
         fields.rating = \"int\"\n\
         [entity.player]\nfields.score = \"int\"\nfields.country = \"text\"\n",
    ),
    ("[entity.product]", ""),
    ("[entity.note]", ""),
    ("[on.search]", "[entity.search]\n"),
    ("[entity.task]\nfields.title", ""),
];

#[test]
fn every_example_of_the_guide_is_a_model() {
    let examples: Vec<&str> =
        GUIDE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), CONTEXTS.len());
    for (example, (start, context)) in examples.iter().zip(CONTEXTS) {
        assert!(example.starts_with(start), "expected the example of {start}:\n{example}");
        if let Err(errors) = check(&format!("{context}{example}")) {
            panic!("{}", render(&errors, "docs/model.md"));
        }
    }
}

#[test]
fn the_guide_lists_every_code_with_its_meaning() {
    for code in Code::ALL {
        let row = format!("| {code} | {} |", code.meaning());
        assert!(GUIDE.contains(&row), "docs/model.md lacks the row\n{row}");
    }
}

/// The sources that say which keys the tables of a model can have.
const SOURCES: [&str; 5] = [
    include_str!("../../src/declare.rs"),
    include_str!("../../src/declare/entity.rs"),
    include_str!("../../src/declare/list.rs"),
    include_str!("../../src/declare/search.rs"),
    include_str!("../../src/declare/access.rs"),
];

#[test]
fn the_guide_names_every_key_that_a_model_can_have() {
    let tables = SOURCES.iter().flat_map(|source| source.split("keys: &[").skip(1));
    let keys: Vec<&str> = tables
        .filter_map(|table| Some(table.split_once(']')?.0))
        .flat_map(|keys| keys.split('"').skip(1).step_by(2))
        .collect();
    assert!(keys.len() > 50, "{keys:?}");
    for key in keys {
        // In a table or a sentence, or as a key of an example.
        let forms = [
            format!("`{key}`"),
            format!("`{key} ="),
            format!("`access.{key}`"),
            format!("access.{key} "),
            format!("\n{key} "),
            format!(" {key} = "),
            format!(".{key}."),
            format!("[{key}."),
        ];
        let is_named = forms.iter().any(|form| GUIDE.contains(form));
        assert!(is_named, "docs/model.md does not name the key `{key}`");
    }
}
