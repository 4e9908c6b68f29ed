//! Runs the whole comparison, from loading to the table.

use std::thread;

use crate::entrant::Entrant;
use crate::{
    Contender, DataDirectory, Kind, Line, Outcome, Report, Round, Rows, Sample, Settings,
    SpeedMeasure, Until, Work, arguments::Part, checkpoints, disk_probe, library, reopen,
};

const WORKS: &[Work] =
    &[Work::Get, Work::Range20, Work::Put { writers: 1 }, Work::Put { writers: 16 }];

/// Measures everything and prints the table.
pub(crate) fn run(settings: &Settings) -> Outcome<()> {
    let directory = DataDirectory::create(&settings.directory)?;
    let rows = Rows::new(settings.rows);
    let mut report = Report::default();
    if settings.part == Part::Library {
        report.lines.extend(library::compare(&directory, settings)?);
        print!("{report}\n{}", footer(settings));
        return Ok(());
    }
    report.lines.push(disk_probe::measure(directory.path(), settings.disk_probes)?);
    let entrants = load_all(&directory, &rows, settings.memory_bytes)?;
    let is_read = |work: &&Work| matches!(work, Work::Get | Work::Range20);
    for work in WORKS.iter().filter(|work| settings.part == Part::All || is_read(work)) {
        report.lines.extend(compare(*work, &entrants, &rows, settings)?);
    }
    if settings.part == Part::Reads {
        print!("{report}\n{}", footer(settings));
        return Ok(());
    }
    report.lines.extend(checkpoints::compare(&entrants, &rows, settings)?);
    drop(entrants);
    report.lines.extend(reopen::compare(&directory, settings)?);
    report.lines.extend(library::compare(&directory, settings)?);
    print!("{report}\n{}", footer(settings));
    Ok(())
}

fn load_all(directory: &DataDirectory, rows: &Rows, memory_bytes: usize) -> Outcome<Vec<Entrant>> {
    let load = |kind: &Kind| {
        eprintln!("Loading {} rows into {}.", rows.count, kind.name());
        let contender = kind.open(&directory.subdirectory(kind.name())?, memory_bytes)?;
        contender.load(rows)?;
        check(contender.as_ref(), rows)?;
        Ok(Entrant { kind: *kind, contender })
    };
    Kind::ALL.iter().map(load).collect()
}

/// Reads every row once: fills the caches, and checks that no row is lost.
fn check(contender: &dyn Contender, rows: &Rows) -> Outcome<()> {
    for row in rows.all() {
        if contender.get(&row.key)?.as_deref() != Some(row.body) {
            return Err("A loaded row was not read back as stored.".into());
        }
    }
    Ok(())
}

/// Runs rounds of all contenders in turns, after one warm-up round.
fn compare(
    work: Work,
    entrants: &[Entrant],
    rows: &Rows,
    settings: &Settings,
) -> Outcome<Vec<Line>> {
    eprintln!("Measuring: {work}.");
    let mut samples: Vec<Vec<Sample>> = entrants.iter().map(|_| vec![]).collect();
    for number in 0..=settings.rounds {
        for (entrant, samples) in entrants.iter().zip(&mut samples) {
            let (contender, until) = (entrant.contender.as_ref(), Until::Elapsed(settings.round));
            let sample = Round { contender, work, rows, until, seed: number as u64 }.run()?;
            if number > 0 {
                samples.push(sample);
            }
        }
    }
    let (reference, measure) = reference(work);
    let lines = entrants.iter().zip(&samples);
    let lines =
        lines.map(|(entrant, rounds)| Line::new(&work.to_string(), entrant.kind.name(), rounds));
    Ok(Line::compared_with(reference.name(), measure, lines.collect()))
}

/// Returns the reference, and how speeds are compared.
fn reference(work: Work) -> (Kind, SpeedMeasure) {
    match work {
        Work::Get | Work::Range20 => (Kind::RawRedb, SpeedMeasure::TypicalCall),
        Work::Put { .. } => (Kind::LogRedb, SpeedMeasure::Rate),
    }
}

fn footer(settings: &Settings) -> String {
    format!(
        "{} rows of 1 KB loaded; medians of {} rounds of {} s, contenders in turns; max is over \
         all rounds; {} cores. A ratio above 1 is faster than the reference: \
         of median calls for reads, of calls per second for the rest.\n",
        settings.rows,
        settings.rounds,
        settings.round.as_secs_f64(),
        thread::available_parallelism().map_or(1, usize::from),
    )
}
