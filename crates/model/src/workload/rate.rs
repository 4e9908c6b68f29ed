//! Rates: operations in a second.

use crate::error::{Code, Report, Reporter};
use crate::parse::{Entry, NodeKind};

/// The highest rate: more than any table takes.
const RATE_MAX: f64 = 1_000_000.0;

/// The rate that a key gives; 0 without it, and after an error.
pub(super) fn optional(entry: Option<&Entry>, reporter: &mut Reporter<'_>) -> f64 {
    entry.map_or(0.0, |entry| required(entry, reporter))
}

pub(super) fn required(entry: &Entry, reporter: &mut Reporter<'_>) -> f64 {
    let rate = match &entry.node.kind {
        NodeKind::Integer(rate) => Some(*rate as f64),
        NodeKind::Float(text) => text.parse().ok(),
        _ => None,
    };
    let rate = rate.filter(|rate| (0.0..=RATE_MAX).contains(rate));
    rate.unwrap_or_else(|| {
        let reason = format!("`{}` is a number of operations in a second", entry.key.text);
        let help = "write a number from 0 to 1,000,000, such as `100` or `0.5`";
        reporter.push(Report::new(Code::BadRate, entry.node.span, reason).help(help));
        0.0
    })
}
