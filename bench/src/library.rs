//! Compares the library with the raw engine on the same rows: the cost of the model, the guards and
//! the lists on top of the table.

mod face;
mod raw;
mod work;

use std::sync::Arc;
use std::time::Instant;

use keyloom::Db;
use keyloom_model::Layout;
use keyloom_store::{Durability, Engine, Options};
use keyloom_value::Item;
use pollster::block_on;

use crate::measure::{Until, sample};
use crate::{DataDirectory, Line, Outcome, Random, Settings};
use face::Face;
use raw::Raw;
use work::{PAGE, Side, Work};

/// Comments on one product, with one unique, two lists and about 1 KB each.
const MODEL: &str = r#"
[entity.comment]
fields.product = "text"
fields.slug    = "text"
fields.rating  = "int 1..5"
fields.created = "time = now"
fields.body    = "text"
unique = ["slug"]
list.by_product = { by = "product", order = "-created" }
list.by_rating  = { by = ["product", "rating"], order = "-created" }
"#;

/// redb's default cache size.
const MEMORY_BYTES: usize = 1 << 30;

const ENGINE: &str = "engine";
const LIBRARY: &str = "library";

/// Loads both sides with the same rows and measures them in turns.
pub(crate) fn compare(directory: &DataDirectory, settings: &Settings) -> Outcome<Vec<Line>> {
    eprintln!("Loading {} comments into the library.", settings.rows);
    let library = Arc::new(open(directory, "library")?);
    let db = block_on(Db::open(MODEL, library.clone()))?;
    let face = Face::load(db, settings.rows)?;
    eprintln!("Copying its rows to an engine of their own.");
    let raw = Raw::copy(&library, open(directory, "same rows")?, layout()?)?;
    library.checkpoint()?;
    let last = (settings.rows / PAGE).min(10_000).saturating_sub(1);
    let works = [
        Work::Get,
        Work::Page { after: 0 },
        Work::Page { after: last },
        Work::Update,
        Work::Create { writers: 1 },
        Work::Create { writers: 16 },
    ];
    let mut lines = vec![];
    for work in works {
        lines.extend(one_work(work, &raw, &face, settings)?);
    }
    lines.push(rows_alone(settings)?);
    Ok(lines)
}

fn one_work(work: Work, raw: &Raw, face: &Face, settings: &Settings) -> Outcome<Vec<Line>> {
    eprintln!("Measuring: {}.", work.name());
    let sides: [(&'static str, &dyn Side); 2] = [(ENGINE, raw), (LIBRARY, face)];
    let mut samples = [vec![], vec![]];
    for round in 0..=settings.rounds {
        for ((_, side), samples) in sides.iter().zip(&mut samples) {
            let until = Until::Elapsed(settings.round);
            let call = |random: &mut Random| side.call(work, random);
            // A different seed for each work, so that no two create the same slug.
            let seed = (work.threads() * 1000 + round) as u64;
            let sample = sample(work.threads(), until, seed, call)?;
            if round > 0 {
                samples.push(sample);
            }
        }
    }
    let lines = sides.iter().zip(&samples);
    let lines = lines.map(|((name, _), samples)| Line::new(&work.name(), name, samples));
    Ok(Line::compared_with(ENGINE, work.measure(), lines.collect()))
}

/// Measures only `rows(image)`.
fn rows_alone(settings: &Settings) -> Outcome<Line> {
    let layout = layout()?;
    let call = |random: &mut Random| {
        let image = raw::new_image(&layout, random)?;
        let start = Instant::now();
        let rows = layout.rows(&image)?;
        let elapsed = start.elapsed();
        if rows.len() != 2 {
            return Err("A comment implies its own row and a guard.".into());
        }
        Ok(elapsed)
    };
    let one = sample(1, Until::Elapsed(settings.round), 1, call)?;
    Ok(Line::new("library: rows(image), 2 rows, 2 lists", LIBRARY, &[one]))
}

fn layout() -> Outcome<Layout> {
    let model = keyloom_model::check(MODEL).map_err(|_| "The model of the benchmark is wrong.")?;
    Ok(Layout::new(model, 1, &Item::new()))
}

fn open(directory: &DataDirectory, name: &str) -> Outcome<Engine> {
    let durability = Durability::Sync;
    let options = Options { durability, memory_bytes: MEMORY_BYTES, ..Options::default() };
    Ok(Engine::open(directory.subdirectory(name)?, options)?)
}
