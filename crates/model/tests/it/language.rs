//! What the language means: models and what comes out of them.

use keyloom_model::{
    CaseMode, DefaultValue, Direction, Entity, FieldOrigin, FieldType, IdSource, Limits, Literal,
    Model, OnDelete, PathPart, Presence, Ranking, check, render,
};

fn model(source: &str) -> Model {
    check(source).unwrap_or_else(|errors| panic!("{}", render(&errors, "model.toml")))
}

/// The entity `a` of a model.
fn entity(source: &str) -> Entity {
    let model = model(source);
    model.entity(model.find("a").expect("there is an `a`")).clone()
}

/// The type and default of a field with this text, in a model that has an entity `b` too.
fn field(spec: &str) -> (FieldType, Presence, Option<DefaultValue>) {
    let a = entity(&format!("[entity.b]\n[entity.a]\nfields.x = '''{spec}'''\n"));
    let field = a.fields.last().expect("it has a field").clone();
    (field.of, field.presence, field.default)
}

#[test]
fn every_type_is_read() {
    let none = Limits::NONE;
    let cases = [
        ("text", FieldType::Text(none)),
        ("text 1..80", FieldType::Text(Limits { low: Some(1), high: Some(80) })),
        ("int ..-1", FieldType::Int(Limits { low: None, high: Some(-1) })),
        ("int -5..", FieldType::Int(Limits { low: Some(-5), high: None })),
        ("bool", FieldType::Bool),
        ("time", FieldType::Time),
        ("bytes 0..16", FieldType::Bytes(Limits { low: Some(0), high: Some(16) })),
        ("any", FieldType::Any),
        ("tags", FieldType::Tags),
        ("enum(a, b-c, 3)", FieldType::Enum(vec!["a".into(), "b-c".into(), "3".into()])),
        ("list", FieldType::List(Box::new(FieldType::Any), Limits::NONE)),
        (
            "list of text 1..3",
            FieldType::List(
                Box::new(FieldType::Text(Limits::NONE)),
                Limits { low: Some(1), high: Some(3) },
            ),
        ),
        (
            "map of list of bool",
            FieldType::Map(
                Box::new(FieldType::List(Box::new(FieldType::Bool), Limits::NONE)),
                Limits::NONE,
            ),
        ),
    ];
    for (spec, expected) in cases {
        assert_eq!(field(spec), (expected, Presence::Required, None), "{spec}");
    }
    let half = Limits { low: "-0.5".parse().ok(), high: "1.5".parse().ok() };
    assert_eq!(field("number -0.5..1.5").0, FieldType::Number(half));
}

#[test]
fn references_say_what_deletion_does() {
    let cases = [
        ("ref b", OnDelete::Refuse, Presence::Required),
        ("ref b refuse", OnDelete::Refuse, Presence::Required),
        ("ref b cascade", OnDelete::Cascade, Presence::Required),
        ("ref b clear?", OnDelete::Clear, Presence::Optional),
        ("ref b?", OnDelete::Refuse, Presence::Optional),
    ];
    for (spec, on_delete, presence) in cases {
        let (of, found, _) = field(spec);
        assert!(matches!(of, FieldType::Ref(_, rule) if rule == on_delete), "{spec}: {of:?}");
        assert_eq!(found, presence, "{spec}");
    }
}

#[test]
fn lists_of_references_are_kept_and_bounded() {
    for (spec, limits) in [
        ("list of ref b keep ..20", Limits { low: None, high: Some(20) }),
        ("list of ref b keep? 1..3", Limits { low: Some(1), high: Some(3) }),
        ("list of ref b keep ..3 = []", Limits { low: None, high: Some(3) }),
    ] {
        let FieldType::List(of, found) = field(spec).0 else { panic!("{spec} is a list") };
        assert!(matches!(*of, FieldType::Ref(_, OnDelete::Keep)), "{spec}: {of:?}");
        assert_eq!(found, limits, "{spec}");
    }
}

#[test]
fn defaults_are_values_of_their_type() {
    let text = |text: &str| Literal::Text(text.to_owned());
    let cases = [
        ("text = word", text("word")),
        ("text = \"two words\"", text("two words")),
        ("text = ''", text("")),
        ("int 1..5 = 3", Literal::Int(3)),
        ("number = 0.10", Literal::Number("0.1".parse().expect("a number"))),
        ("bool = true", Literal::Bool(true)),
        ("time = 1970-01-01T00:00:01Z", Literal::Time(1000)),
        ("enum(a, b) = b", text("b")),
        ("list of int = []", Literal::EmptyList),
        ("map? = {}", Literal::EmptyMap),
        ("tags = {}", Literal::EmptyMap),
    ];
    for (spec, expected) in cases {
        assert_eq!(field(spec).2, Some(DefaultValue::Literal(expected)), "{spec}");
    }
    assert_eq!(field("time = now").2, Some(DefaultValue::Now));
}

#[test]
fn every_entity_has_an_id_and_a_child_its_parent() {
    let a = entity("[entity.b]\n[entity.a]\nparent = \"b\"\nid = \"given\"\nfields.x = \"int\"");
    let found: Vec<(&str, FieldOrigin)> =
        a.fields.iter().map(|field| (field.name.as_str(), field.origin)).collect();
    let expected =
        [("id", FieldOrigin::Id), ("b", FieldOrigin::Parent), ("x", FieldOrigin::Declared)];
    assert_eq!(found, expected);
    assert_eq!(a.parent, a.find_field("b"));
    assert_eq!(a.id_source, IdSource::Given);
}

#[test]
fn paths_are_plurals_unless_they_are_given() {
    for (name, path) in
        [("task", "/tasks"), ("category", "/categories"), ("search", "/searches"), ("day", "/days")]
    {
        let model = model(&format!("[entity.{name}]"));
        assert_eq!(model.entity(model.find(name).expect("it is there")).path, path);
    }
    assert_eq!(entity("[entity.a]\npath = \"/x/y\"").path, "/x/y");
}

#[test]
fn uniques_are_alone_combined_scoped_and_folded() {
    let a = entity(
        "[entity.a]\nfields.x = \"text\"\nfields.y = \"text?\"\nfields.z = \"int\"\n\
         unique = [\"x\", [\"x\", \"z\"], { fields = \"y\", within = \"z\", fold_case = true }]\n",
    );
    let id = |name: &str| a.find_field(name).expect("it is there");
    let found: Vec<_> = a.uniques().map(|(_, u)| (u.fields.clone(), u.within, u.case)).collect();
    let expected = [
        (vec![id("x")], None, CaseMode::Exact),
        (vec![id("x"), id("z")], None, CaseMode::Exact),
        (vec![id("y")], Some(id("z")), CaseMode::Folded),
    ];
    assert_eq!(found, expected);
}

#[test]
fn lists_have_partition_order_filter_and_path() {
    let a = entity(
        "[entity.a]\nfields.x = \"text\"\nfields.y = \"time\"\nfields.z = \"int\"\n\
         [entity.a.list.l]\nby = \"x\"\norder = [\"-y\", \"z\"]\nwhere = { z = 3 }\n\
         path = \"/xs/{x}/as\"\n",
    );
    let id = |name: &str| a.find_field(name).expect("it is there");
    let list = a.list(a.find_list("l").expect("it is there"));
    assert_eq!(list.by, [id("x")]);
    let order: Vec<_> = list.order.iter().map(|by| (by.field, by.direction)).collect();
    assert_eq!(order, [(id("y"), Direction::Descending), (id("z"), Direction::Ascending)]);
    assert_eq!((list.filter[0].field, &list.filter[0].value), (id("z"), &Literal::Int(3)));
    let text = |text: &str| PathPart::Text(text.to_owned());
    assert_eq!(list.path, Some(vec![text("xs"), PathPart::Field(id("x")), text("as")]));
}

#[test]
fn boards_rank_values_by_count_or_entities_by_a_field() {
    let a = entity(
        "[entity.a]\nfields.x = \"text\"\nfields.y = \"number\"\n\
         board.most = { of = \"x\" }\nboard.best = { rank = \"y\", by = \"x\" }\n",
    );
    let id = |name: &str| a.find_field(name).expect("it is there");
    assert_eq!(a.boards[0].ranking, Ranking::Count(id("x")));
    assert_eq!(a.boards[1].ranking, Ranking::Field(id("y")));
}

#[test]
fn how_a_table_is_written_makes_no_difference() {
    let headers = "[entity.a]\n[entity.a.fields]\nx = \"int\"\n[entity.a.list.l]\norder = \"x\"\n";
    let dotted = "entity.a.fields.x = \"int\"\nentity.a.list.l.order = \"x\"\n";
    let inline =
        "entity = { a = { fields = { x = \"int\" }, list = { l = { order = [\"x\"] } } } }";
    assert_eq!(model(headers), model(dotted));
    assert_eq!(model(headers), model(inline));
}

/// The names of the children of `a`, with the entities that they are.
fn children(source: &str) -> Vec<(String, String)> {
    let model = model(source);
    let children = model.children(model.find("a").expect("there is an `a`"));
    children.into_iter().map(|(name, id)| (name, model.entity(id).name.clone())).collect()
}

#[test]
fn children_are_called_by_the_last_part_of_their_path() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("[entity.a]", &[]),
        ("[entity.a]\n[entity.b]\nfields.x = 'ref a refuse'", &[]),
        ("[entity.a]\n[entity.b]\nparent = 'a'\n[entity.c]\nparent = 'b'", &[("bs", "b")]),
        (
            "[entity.menu_item]\nparent = 'a'\npath = '/a/menu-items'\n[entity.a]",
            &[("menu_items", "menu_item")],
        ),
        // A field of the parent is called so, or another child.
        ("[entity.a]\nfields.bs = 'int'\n[entity.b]\nparent = 'a'", &[("b", "b")]),
        (
            "[entity.a]\n[entity.b]\nparent = 'a'\npath = '/b/x'\n\
             [entity.c]\nparent = 'a'\npath = '/c/x'\n[entity.d]\nparent = 'a'",
            &[("b", "b"), ("c", "c"), ("ds", "d")],
        ),
        // One that gives way needs the name of a third.
        (
            "[entity.a]\n[entity.b]\nparent = 'a'\npath = '/b/x'\n\
             [entity.c]\nparent = 'a'\npath = '/c/x'\n[entity.d]\nparent = 'a'\npath = '/b'",
            &[("b", "b"), ("c", "c"), ("d", "d")],
        ),
        ("[entity.a]\n[entity.b]\nparent = 'a'\npath = '/x.y'", &[("b", "b")]),
        (
            "[entity.a]\nfields.b = 'int'\nfields.b_ = 'int'\n[entity.b]\nparent = 'a'\npath = '/b'\n\
             [entity.c]\nparent = 'a'\npath = '/b__'",
            &[("b___", "b"), ("b__", "c")],
        ),
    ];
    for (source, expected) in cases {
        let found = children(source);
        let found: Vec<(&str, &str)> = found.iter().map(|(n, e)| (&**n, &**e)).collect();
        assert_eq!(found, *expected, "{source}");
    }
}
