//! The models of the applications are models.

use std::fs;
use std::path::Path;

use keyloom_model::{Direction, FieldType, OnDelete, Target, Tenancy, check, render};

fn apps() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps");
    let mut apps = vec![];
    for entry in fs::read_dir(folder).expect("there are apps") {
        let path = entry.expect("a folder can be read").path();
        if !path.join("model.toml").exists() {
            continue;
        }
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        apps.push((name, fs::read_to_string(path.join("model.toml")).expect("it has a model")));
    }
    apps.sort();
    apps
}

#[test]
fn all_apps_have_a_model_without_errors() {
    let apps = apps();
    let names: Vec<&str> = apps.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["comments", "kitchen", "oncall", "tasks"]);
    for (name, source) in &apps {
        if let Err(errors) = check(source) {
            panic!("{}", render(&errors, &format!("apps/{name}/model.toml")));
        }
    }
}

#[test]
fn oncall_inherits_tenants_and_orders_searches_alike_with_and_without_status() {
    let (_, source) = apps().into_iter().find(|(name, _)| name == "oncall").expect("it is there");
    let model = check(&source).expect("it has no errors");
    let entity = |name: &str| model.entity(model.find(name).expect("it is there"));
    let contact = model.find("contact").expect("it is there");
    assert_eq!(entity("method").tenancy, Tenancy::Inherited(contact));
    assert!(matches!(entity("search").tenancy, Tenancy::Own(_)));

    let search = entity("search");
    let [by_contact, by_status] = search.lists.as_slice() else { panic!("two lists") };
    assert_eq!(by_contact.order, by_status.order);
    assert_eq!(by_contact.order[0].direction, Direction::Ascending);
    let parent = entity("attempt").parent.expect("it is a child");
    let of = &entity("attempt").field(parent).of;
    assert!(matches!(of, FieldType::Ref(id, OnDelete::Cascade) if model.entity(*id) == search));
    assert_eq!(model.handlers()[0].target, Target::Handler("hunt".to_owned()));
}
