//! The OpenAPI documents that tools are run on: those of the applications as they are checked in, and those of
//! the models of the gallery.

use std::fs;
use std::path::{Path, PathBuf};

use keyloom_server::Rest;

pub(crate) const APPS: [&str; 4] = ["tasks", "comments", "kitchen", "oncall"];
const GALLERY: &str = include_str!("../../../../docs/gallery.md");

/// The document of an application.
pub(crate) fn of_app(app: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/openapi/{app}.json"))
}

/// Writes the documents of the gallery to a folder. Returns them with the names of their models.
pub(crate) fn of_gallery(folder: &Path) -> Vec<(String, PathBuf)> {
    fs::create_dir_all(folder).unwrap();
    let sections = GALLERY.split("\n## ").skip(1);
    let written = sections.map(|section| {
        let (title, text) = section.split_once('\n').unwrap();
        let name = title.to_lowercase().replace([' ', '-'], "_");
        let model = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let model = keyloom_model::check(model).unwrap();
        let path = folder.join(format!("{name}.json"));
        fs::write(&path, Rest::openapi(&name, &model).unwrap()).unwrap();
        (name, path)
    });
    let written: Vec<(String, PathBuf)> = written.collect();
    assert!(written.len() > 3);
    written
}

/// All of them.
pub(crate) fn all(folder: &Path) -> Vec<(String, PathBuf)> {
    let apps = APPS.map(|app| (app.to_owned(), of_app(app)));
    apps.into_iter().chain(of_gallery(folder)).collect()
}
