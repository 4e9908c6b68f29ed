//! Stage 3: declared → [`Model`]. Resolves names and checks that types fit their use and values
//! their types. An invalid part is reported and left out, and checking continues.

mod access;
mod board;
mod capacity;
mod choice;
mod entity;
mod field;
mod filters;
mod format;
mod handler;
mod jobs;
mod lineage;
mod list;
pub(crate) mod literal;
mod moves;
mod name;
mod path;
mod pattern;
mod query_scope;
mod read_only;
mod scope;
mod search;
mod sequence;
mod shards;
mod tenancy;
mod transition;
mod unique;
mod window;

use crate::declare::declare;
use crate::declared::Declared;
use crate::error::{ModelError, Reporter};
use crate::model::Model;
use crate::parse::parse;
use crate::source::Source;
use field::FieldChecker;
use lineage::Lineage;
use name::Entities;
use path::Paths;
use scope::Scope;

/// Reads a model file.
///
/// The cost is linear in the size of the file, which is at most 1 MiB, and no text makes it panic.
///
/// # Errors
///
/// Every error of the file, in its order. A file that is not TOML, or declares a name twice, has
/// one error, because nothing after it can be trusted.
pub fn check(source: &str) -> Result<Model, Vec<ModelError>> {
    let lines = Source::new(source);
    let mut reporter = Reporter::new(&lines);
    let model = parse(source, &lines, &mut reporter).map(|entries| {
        let mut declared = declare(&entries, &mut reporter);
        let has_jobs = jobs::add(&mut declared, &mut reporter);
        resolve(&declared, has_jobs, &mut reporter)
    });
    let errors = reporter.finish();
    match model {
        Some(model) if errors.is_empty() => Ok(model),
        _ => Err(errors),
    }
}

/// Returns a model that is complete only if no error was reported.
fn resolve(declared: &Declared, has_jobs: bool, reporter: &mut Reporter<'_>) -> Model {
    let entities = Entities::new(&declared.entities, reporter);
    let lineage = Lineage::new(&declared.entities, &entities, reporter);
    let mut fields = FieldChecker { entities: &entities, reporter };
    let scopes: Vec<Scope> = declared
        .entities
        .iter()
        .zip(lineage.parents())
        .map(|(entity, parent)| fields.scope(entity, *parent))
        .collect();
    let tenancies = tenancy::tenancies(&lineage, &scopes, reporter);
    let mut paths = Paths::default();
    // Jobs come first, so that an entity that uses their path gets the error.
    let (own, built_in) =
        declared.entities.split_at(declared.entities.len() - usize::from(has_jobs));
    for entity in built_in.iter().chain(own) {
        paths.add_entity(entity, reporter);
    }
    let mut checked = entity::Checker {
        lineage: &lineage,
        scopes: &scopes,
        tenancies: &tenancies,
        paths,
        reporter,
    };
    let checked = checked.entities(&declared.entities);
    board::check_names(&declared.entities, reporter);
    let handlers = handler::handlers(&declared.handlers, &entities, reporter);
    let jobs = has_jobs.then(|| entities.last()).flatten();
    let renamed = moves::of_entities(&declared.renamed, &entities, jobs, reporter);
    Model::new(checked, handlers, jobs, renamed)
}
