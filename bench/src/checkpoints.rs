//! Write latencies during checkpoints.
//!
//! Short rounds may fall between two checkpoints; this one writes enough to include several, and its
//! longest call is the stall.

use crate::entrant::Entrant;
use crate::rows::{BODY_BYTES, KEY_BYTES};
use crate::{
    Contender, Kind, Line, Outcome, Round, Rows, Sample, Settings, SpeedMeasure, Until, Work,
};

const WORK: Work = Work::Put { writers: 16 };

/// Runs one long round of every contender with a log.
pub(crate) fn compare(
    entrants: &[Entrant],
    rows: &Rows,
    settings: &Settings,
) -> Outcome<Vec<Line>> {
    let mebibytes = settings.checkpoint_bytes >> 20;
    let work = format!("{WORK}, {mebibytes} MiB with checkpoints");
    eprintln!("Measuring: {work}.");
    let logged = entrants.iter().filter(|entrant| entrant.kind.has_log());
    let lines = logged.map(|entrant| {
        let sample = measure(entrant.contender.as_ref(), rows, settings.checkpoint_bytes)?;
        Ok(Line::new(&work, entrant.kind.name(), &[sample]))
    });
    Ok(Line::compared_with(
        Kind::LogRedb.name(),
        SpeedMeasure::Rate,
        lines.collect::<Outcome<_>>()?,
    ))
}

/// Puts `bytes` of rows with 16 writers.
pub(crate) fn measure(contender: &dyn Contender, rows: &Rows, bytes: u64) -> Outcome<Sample> {
    let until = Until::Calls(bytes / (KEY_BYTES + BODY_BYTES) as u64);
    Round { contender, work: WORK, rows, until, seed: u64::from(u32::MAX) }.run()
}
