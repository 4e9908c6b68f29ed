//! `docs/gallery.md` is correct: each model is served, its requests return what the page shows, and its
//! data is verified afterwards.

use keyloom_testkit::readme::{self, Process};

use crate::process::{Folder, keyloom, output};

const PAGE: &str = include_str!("../../../../docs/gallery.md");

/// The sections of the page, each with its model.
fn sections() -> Vec<(&'static str, &'static str, &'static str)> {
    let sections = PAGE.split("\n## ").skip(1);
    let section = |text: &'static str| {
        let (name, text) = text.split_once('\n').unwrap();
        let (_, model) = text.split_once("```toml\n").unwrap();
        let (model, requests) = model.split_once("```\n").unwrap();
        (name, model, requests)
    };
    sections.map(section).collect()
}

fn check(name: &str) {
    let (_, model, requests) = *sections().iter().find(|(of, ..)| *of == name).unwrap();
    let folder = Folder::new(&format!("gallery-{}", name.replace(' ', "-")));
    let (model, data) = (folder.write("model.toml", model), folder.path("data"));
    let mut command = keyloom();
    command.args(["serve", &model, "--data", &data]);
    let server = Process::serve(command);
    assert!(readme::run(requests, &server) > 2, "the section has requests");
    drop(server);
    let (success, out, err) = output(&["verify", &model, "--data", &data]);
    assert!(success, "{out}{err}");
}

#[test]
fn the_issue_tracker_does_what_the_page_shows() {
    check("Issue tracker");
}

#[test]
fn the_shop_does_what_the_page_shows() {
    check("Shop");
}

#[test]
fn the_social_feed_does_what_the_page_shows() {
    check("Social feed");
}

#[test]
fn the_multi_tenant_service_does_what_the_page_shows() {
    check("Multi-tenant SaaS");
}

#[test]
fn every_section_is_run() {
    assert_eq!(sections().len(), 4);
}
