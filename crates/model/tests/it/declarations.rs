//! The parts of a file that declare its entities: together they are the model, and each is as the author wrote it.

use keyloom_model::{check, declarations};
use keyloom_testkit::model::drafts;
use proptest::prelude::*;

const APPS: [&str; 4] = [
    include_str!("../../../../apps/comments/model.toml"),
    include_str!("../../../../apps/kitchen/model.toml"),
    include_str!("../../../../apps/oncall/model.toml"),
    include_str!("../../../../apps/tasks/model.toml"),
];

/// The parts of the file in the order of its entities, those above the first header first.
fn joined(source: &str) -> String {
    let declarations = declarations(source);
    let model = check(source).unwrap();
    let parts = model.entities().filter_map(|(_, entity)| declarations.get(&entity.name));
    let (mut top, mut below) = (String::new(), String::new());
    for part in parts {
        let header =
            if part.starts_with('[') { Some(0) } else { part.find("\n[").map(|at| at + 1) };
        let (keys, tables) = part.split_at(header.unwrap_or(part.len()));
        top.push_str(keys);
        below.push_str(tables);
    }
    top + &below
}

proptest! {
    #[test]
    fn the_parts_of_a_file_are_its_model(draft in drafts()) {
        let text = draft.text();
        prop_assert_eq!(check(&joined(&text)), check(&text));
    }
}

#[test]
fn the_parts_of_the_applications_are_their_models() {
    for source in APPS {
        assert_eq!(check(&joined(source)), check(source));
        for part in declarations(source).values() {
            assert!(part.lines().all(|line| line.is_empty() || source.contains(line)), "{part}");
        }
    }
}

/// The declaration of an entity, and its lines.
fn assert_declared(source: &str, entity: &str, expected: &str) {
    let all = declarations(source);
    assert_eq!(all.get(entity).map(String::as_str), Some(expected), "{entity} in {source}");
}

#[test]
fn values_of_several_lines_are_whole() {
    let source = "\
[entity.a]
unique = [
  [\"x\"],
  # [entity.b]
  [\"y\"],
]
fields.x = '''
[entity.b]'''

[entity.b]
fields.y = \"int\"
";
    let (a, b) = source.split_at(source.find("\n[entity.b]\nfields").unwrap());
    assert_declared(source, "a", a);
    assert_declared(source, "b", b.trim_start());
}

#[test]
fn parts_are_found_however_they_are_written_and_wherever_they_are() {
    let source = "\
# The file.

jobs = true
entity.a.fields.x = \"int\"
entity.b.fields.y = \"int\"
entity.d = { fields.y = \"int\" } # in one line

# Newest first.
[entity.a.list.newest]
order = \"-x\"

[entity.\"b\".count.all]

[ on . a ]
insert = \"hello\"

[on]
b.update = \"changed\"
# A webhook.
c.delete = \"gone\"

[[entity.c.unique]]
fields = [\"z\"]
";
    let a = "entity.a.fields.x = \"int\"\n\n# Newest first.\n[entity.a.list.newest]\norder = \"-x\"\n\n\
             [ on . a ]\ninsert = \"hello\"\n";
    assert_declared(source, "a", a);
    let b = "entity.b.fields.y = \"int\"\n\n[entity.\"b\".count.all]\n\n\
             [on]\nb.update = \"changed\"\n";
    assert_declared(source, "b", b);
    let c = "[on]\n\n# A webhook.\nc.delete = \"gone\"\n\n[[entity.c.unique]]\nfields = [\"z\"]\n";
    assert_declared(source, "c", c);
    assert_declared(source, "d", "entity.d = { fields.y = \"int\" } # in one line\n");
    assert_eq!(declarations(source).len(), 4);
}

#[test]
fn entities_in_one_inline_table_are_told_apart() {
    let source = "entity = {\n  a = { fields.x = \"int\" },\n  b = { fields.y = \"int\" },\n}\n";
    assert_declared(source, "a", "  a = { fields.x = \"int\" },\n");
    assert_declared(source, "b", "  b = { fields.y = \"int\" },\n");
}

#[test]
fn a_file_with_other_line_ends_has_the_same_parts() {
    for source in APPS {
        assert_eq!(declarations(&source.replace('\n', "\r\n")), declarations(source));
    }
}

#[test]
fn a_text_that_is_not_toml_declares_nothing() {
    assert_eq!(declarations("[entity.a").len(), 0);
    assert_eq!(declarations("").len(), 0);
}
