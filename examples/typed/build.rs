//! Generates the typed modules of the four applications, of the gallery, of a model with hostile names, and
//! of some random models.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use keyloom_build::Builder;

fn main() -> Result<(), Box<dyn Error>> {
    for app in ["comments", "kitchen", "oncall", "tasks"] {
        Builder::new().module(app).compile(format!("../../apps/{app}/model.toml"))?;
    }
    for model in ["hostile", "random_1", "random_2", "random_3", "random_4", "random_5", "random_6"]
    {
        keyloom_build::compile(format!("models/{model}.toml"))?;
    }
    compile_gallery(Path::new("../../docs/gallery.md"))
}

/// Generates a module for each section of the gallery, which has its model as the first example.
fn compile_gallery(page: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={}", page.display());
    let text = fs::read_to_string(page)?;
    let folder = PathBuf::from(env::var("OUT_DIR")?);
    for section in text.split("\n## ").skip(1) {
        let (heading, rest) = section.split_once('\n').ok_or("a section has a heading")?;
        let (_, rest) = rest.split_once("```toml\n").ok_or("a section has a model")?;
        let (model, _) = rest.split_once("```\n").ok_or("a model has an end")?;
        let name = heading.to_lowercase().replace([' ', '-'], "_");
        let path = folder.join(format!("{name}.toml"));
        fs::write(&path, model)?;
        keyloom_build::compile(&path)?;
    }
    Ok(())
}
