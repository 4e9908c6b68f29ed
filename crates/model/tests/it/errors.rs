//! The full message of every code: `tests/errors/CODE.toml` is a model, or with a code `K07..` a
//! workload of the comments, and `CODE.txt` its errors.
//! `KEYLOOM_BLESS=1` rewrites the messages; review the diff.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use keyloom_model::workload::Workload;
use keyloom_model::{Code, ModelError, check, render};

/// Codes whose models would be too long for a file; a test here generates each.
const GENERATED: &[Code] = &[Code::FileTooLarge, Code::TooManyErrors, Code::TooMany];

fn errors(source: &str) -> Vec<ModelError> {
    check(source).expect_err("the model is wrong")
}

/// The errors of the example of a code.
fn errors_of(code: Code, source: &str) -> Vec<ModelError> {
    if !code.as_str().starts_with("K07") {
        return errors(source);
    }
    let comments = include_str!("../../../../apps/comments/model.toml");
    let model = check(comments).expect("the model is valid");
    Workload::check(source, &model).expect_err("the workload is wrong")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors")
}

#[test]
fn every_code_has_its_text() {
    let bless = std::env::var_os("KEYLOOM_BLESS").is_some();
    for code in Code::ALL.iter().filter(|code| !GENERATED.contains(code)) {
        let path = folder().join(format!("{code}.toml"));
        let source = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{code} has no example"));
        let errors = errors_of(*code, &source);
        assert!(errors.iter().any(|error| error.code() == *code), "{code} is not in {errors:#?}");
        let others: BTreeSet<_> = errors.iter().map(ModelError::code).collect();
        assert_eq!(others.len(), 1, "the example of {code} has other errors: {others:?}");
        let text = render(&errors, "model.toml");
        let expected = folder().join(format!("{code}.txt"));
        if bless {
            fs::write(&expected, &text).expect("the text can be written");
        }
        assert_eq!(text, fs::read_to_string(&expected).unwrap_or_default(), "{code}");
    }
}

#[test]
fn every_example_belongs_to_a_code() {
    let known: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(known.len(), Code::ALL.len());
    for entry in fs::read_dir(folder()).expect("there are examples") {
        let path = entry.expect("it can be read").path();
        let stem = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        assert!(known.contains(stem.as_str()), "{stem}");
    }
}

#[test]
fn a_file_that_is_too_large_is_not_parsed() {
    let errors = errors(&format!("# {}\n", "x".repeat(1024 * 1024)));
    let expected = format!(
        "error[K0102]: the file has 1048579 bytes\n --> model.toml:1:1\n  |\n1 | # {}...\n  | ^\n  \
         = help: a model file has at most 1048576 bytes\n\nmodel.toml: 1 error\n",
        "x".repeat(98)
    );
    assert_eq!(render(&errors, "model.toml"), expected);
}

#[test]
fn at_most_a_thousand_errors_are_reported() {
    let fields: String = (0..5000).map(|n| format!("x{n} = 1\n")).collect();
    let errors = errors(&format!("[entity.a]\n{fields}"));
    assert_eq!(errors.len(), 1001);
    let last = errors.last().expect("there is one");
    let expected = "error[K0103]: there are more than 1000 errors\n    --> 1002:1\n     |\n\
                    1002 | x1000 = 1\n     | ^^^^^\n     = help: fix these to see the others";
    assert_eq!(last.to_string(), expected);
}

#[test]
fn too_many_entities_fields_and_members_are_refused() {
    let entities: String = (0..201).map(|n| format!("[entity.e{n}]\n")).collect();
    let fields: String = (0..201).map(|n| format!("fields.f{n} = \"int\"\n")).collect();
    let members: Vec<String> = (0..201).map(|n| format!("m{n}")).collect();
    let cases = [
        (
            entities,
            "error[K0109]: 201 entities; the limit is 200\n   --> 201:9\n    |\n\
             201 | [entity.e200]\n    |         ^^^^",
        ),
        (
            format!("[entity.a]\n{fields}"),
            "error[K0109]: 201 fields; the limit is 200\n   --> 202:8\n    |\n\
             202 | fields.f200 = \"int\"\n    |        ^^^^",
        ),
        (
            format!("[entity.a]\nfields.b = \"enum({})\"\n", members.join(",")),
            "error[K0109]: an enum has at most 200 members\n --> 2:908\n  |\n\
             2 | ...m192,m193,m194,m195,m196,m197,m198,m199,m200)\"",
        ),
    ];
    for (source, expected) in cases {
        let errors = errors(&source);
        assert_eq!(errors.len(), 1);
        let text = errors[0].to_string();
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn all_errors_are_reported_at_once_in_the_order_of_the_file() {
    let source = "\
[entity.comment]
colour = 1
fields.product = \"txt\"
fields.rating = \"int 5..1\"
[entity.comment.list.by_product]
by = \"prodct\"
order = [\"-raiting\", \"product\"]
[on.coment]
insert = \"f\"
";
    let found: Vec<(usize, &str)> =
        errors(source).iter().map(|error| (error.line(), error.code().as_str())).collect();
    let expected =
        [(2, "K0104"), (3, "K0202"), (4, "K0205"), (6, "K0302"), (7, "K0302"), (8, "K0301")];
    assert_eq!(found, expected);
}

#[test]
fn an_error_in_a_text_with_escapes_points_to_the_whole_text() {
    let errors = errors("[entity.a]\nfields.b = \"text = \\\"x\\\" y\"\n");
    assert_eq!((errors[0].line(), errors[0].column()), (2, 12));
}

#[test]
fn a_duplicate_name_is_reported_wherever_it_is() {
    let sources = [
        "[entity.a]\n[entity.a]\n",
        "[entity.a]\nfields.x = \"int\"\nfields.x = \"text\"\n",
        "[entity.a]\npath = \"/x\"\npath = \"/y\"\n",
        "[entity.a]\nlist.l = { order = \"id\", order = \"-id\" }\n",
    ];
    for source in sources {
        let errors = errors(source);
        assert_eq!(errors[0].code(), Code::DuplicateName, "{}", errors[0]);
    }
}

#[test]
fn one_mistake_is_reported_once() {
    let sources = [
        "[entity.a]\nparent = \"b\"\nlist.l = { by = \"b\", path = \"/b/{b}/a\" }\n",
        "[entity.a]\nparent = \"a\"\nunique = [{ fields = [\"x\"], within = \"a\" }]\n\
         fields.x = \"int\"\n",
        "[entity.a]\nfields.x = \"txt\"\ntenant = \"x\"\nexpires = \"x\"\nunique = [\"x\"]\n\
         list.l = { by = \"x\", order = \"-x\", where = { x = 1 } }\ntags.x = { combine = [] }\n",
        "[entity.a]\nlist.l = { by = \"x\", path = \"/x/{x}\" }\n",
    ];
    for source in sources {
        let errors = errors(source);
        assert_eq!(errors.len(), 1, "{}", render(&errors, "model.toml"));
    }
}
