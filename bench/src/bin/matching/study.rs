//! Queries in Keyloom and in other databases with the same entities, and what declarations cost writers.

use std::time::{Duration, Instant};

use keyloom::{Db, Entry};

use crate::kept::Kept;
use crate::measured::{Measured, median};
use crate::peers::Measure;

/// Importing threads.
const SENDERS: u32 = 16;

/// Entities, and the queries that are measured with them.
pub(crate) struct Study<Q: 'static> {
    /// The entities, as a table names them.
    pub(crate) what: &'static str,
    pub(crate) model: String,
    pub(crate) entry: fn(u32) -> Entry,
    pub(crate) queries: &'static [Q],
    pub(crate) text: fn(&Q) -> &'static str,
    /// Runs a query; returns how many entities are found, or what they sum up to.
    pub(crate) run: fn(&Db, &Q) -> u64,
    pub(crate) peers: &'static [(&'static str, Measure)],
}

/// A model whose cost for writers is measured.
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) model: String,
}

impl<Q> Study<Q> {
    /// Prints the queries, compared with those of the other databases unless it is alone.
    pub(crate) fn compare(&self, count: u32, is_alone: bool) {
        let mut measured = vec![("Keyloom", self.measure(count))];
        for (name, peer) in self.peers.iter().filter(|_| !is_alone) {
            eprintln!("{name}: {count} {} are loaded", self.what);
            match peer(count) {
                Ok(outcome) => measured.push((name, outcome)),
                Err(why) => eprintln!("{name} could not be measured: {why}"),
            }
        }
        println!("{count} {}:\n", self.what);
        let texts: Vec<&str> = self.queries.iter().map(self.text).collect();
        crate::compare(count, &measured, &texts);
    }

    /// Prints the speed of imports and the size of the data with each model.
    pub(crate) fn written(&self, count: u32, variants: &[Variant]) {
        println!("| declared | {}/s | bytes each |\n|---|---:|---:|", self.what);
        for Variant { name, model } in variants {
            let (kept, load) = self.load(count, model);
            let rate = f64::from(count) / load.as_secs_f64();
            println!("| {name} | {rate:.0} | {} |", kept.settle() / u64::from(count));
        }
        println!();
    }

    fn measure(&self, count: u32) -> Measured {
        let (kept, load) = self.load(count, &self.model);
        let bytes = kept.settle();
        let queries = self.queries.iter().map(|query| {
            let found = (self.run)(&kept.db, query);
            (found, median(|| (self.run)(&kept.db, query)))
        });
        let queries = queries.collect();
        Measured { load, bytes, queries }
    }

    fn load(&self, count: u32, model: &str) -> (Kept, Duration) {
        let kept = Kept::open(model);
        let began = Instant::now();
        kept.import(count, SENDERS, self.entry);
        let load = began.elapsed();
        (kept, load)
    }
}
