//! The table of results.

use std::fmt;
use std::time::Duration;

use crate::Sample;

/// Lines of a Markdown table.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) lines: Vec<Line>,
}

/// The result of one contender for one kind of work: medians over the rounds.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) work: String,
    pub(crate) contender: &'static str,
    pub(crate) calls_per_sec: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    /// The longest call of all rounds: a stall must not hide behind a median.
    pub(crate) max: Duration,
    /// Speed relative to the reference, if there is one.
    pub(crate) ratio: Option<f64>,
}

/// How speeds are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpeedMeasure {
    /// Calls per second: for calls that wait for each other.
    Rate,
    /// The median call: for calls of microseconds, whose rate depends on other processes that take the
    /// processor for milliseconds.
    TypicalCall,
}

impl Line {
    /// Combines rounds, of which there must be at least one.
    pub(crate) fn new(work: &str, contender: &'static str, rounds: &[Sample]) -> Line {
        let times = |percent| rounds.iter().map(move |round| round.latencies.percentile(percent));
        Line {
            work: work.to_owned(),
            contender,
            calls_per_sec: median(rounds.iter().map(|round| round.calls_per_sec), f64::total_cmp),
            p50: median(times(50), Duration::cmp),
            p99: median(times(99), Duration::cmp),
            max: rounds.iter().map(|round| round.latencies.max()).max().unwrap_or_default(),
            ratio: None,
        }
    }

    /// Adds the ratio of each line to the reference among them.
    pub(crate) fn compared_with(
        reference: &str,
        measure: SpeedMeasure,
        mut lines: Vec<Line>,
    ) -> Vec<Line> {
        let reference = lines.iter().find(|line| line.contender == reference);
        let reference_speed = reference.map(|line| line.speed(measure));
        for line in &mut lines {
            line.ratio = reference_speed.map(|speed| line.speed(measure) / speed);
        }
        lines
    }

    fn speed(&self, measure: SpeedMeasure) -> f64 {
        match measure {
            SpeedMeasure::Rate => self.calls_per_sec,
            SpeedMeasure::TypicalCall => self.p50.as_secs_f64().recip(),
        }
    }
}

fn median<T: Copy + Default>(
    values: impl Iterator<Item = T>,
    order: fn(&T, &T) -> std::cmp::Ordering,
) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_by(order);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| work | contender | per second | p50 | p99 | max | ratio |")?;
        writeln!(f, "|---|---|---:|---:|---:|---:|---:|")?;
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line { work, contender, calls_per_sec, p50, p99, max, ratio } = self;
        let [p50, p99, max] = [p50, p99, max].map(|time| readable(*time));
        let ratio = ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
        let rate = readable_rate(*calls_per_sec);
        write!(f, "| {work} | {contender} | {rate} | {p50} | {p99} | {max} | {ratio} |")
    }
}

fn readable(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        0.0..100.0 => format!("{micros:.1} µs"),
        100.0..1000.0 => format!("{micros:.0} µs"),
        1000.0..100_000.0 => format!("{:.1} ms", micros / 1e3),
        _ => format!("{:.0} ms", micros / 1e3),
    }
}

/// Formats a rate with thousands separators; with decimals only if it is low.
fn readable_rate(rate: f64) -> String {
    if rate < 100.0 {
        return format!("{rate:.1}");
    }
    let digits = format!("{rate:.0}");
    let mut marked = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            marked.push(',');
        }
        marked.push(digit);
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Latencies;

    fn line(contender: &'static str, rates: [f64; 3]) -> Line {
        let micros = Duration::from_micros(250);
        let sample =
            |calls_per_sec| Sample { calls_per_sec, latencies: Latencies::new(vec![micros]) };
        Line::new("get", contender, &rates.map(sample))
    }

    #[test]
    fn the_median_round_counts_and_ratios_are_to_the_reference() {
        let lines = vec![line("a", [1000.0, 9e9, 2000.0]), line("b", [500.0, 500.0, 0.0])];
        let report = Report { lines: Line::compared_with("a", SpeedMeasure::Rate, lines) };
        let expected = "\
| work | contender | per second | p50 | p99 | max | ratio |
|---|---|---:|---:|---:|---:|---:|
| get | a | 2,000 | 250 µs | 250 µs | 250 µs | 1.00 |
| get | b | 500 | 250 µs | 250 µs | 250 µs | 0.25 |
";
        assert_eq!(report.to_string(), expected);
    }

    #[test]
    fn the_ratio_of_typical_calls_is_that_of_their_medians() {
        let mut slow = line("b", [1000.0; 3]);
        slow.p50 *= 2;
        let lines = vec![line("a", [1000.0; 3]), slow];
        let compared = Line::compared_with("a", SpeedMeasure::TypicalCall, lines);
        assert_eq!(
            compared.iter().map(|line| line.ratio).collect::<Vec<_>>(),
            [Some(1.0), Some(0.5)]
        );
    }

    #[test]
    fn numbers_have_about_three_digits() {
        let cases = [(3, "3.0 µs"), (250, "250 µs"), (1500, "1.5 ms"), (250_000, "250 ms")];
        for (micros, text) in cases {
            assert_eq!(readable(Duration::from_micros(micros)), text);
        }
        assert_eq!(readable_rate(1_234_567.0), "1,234,567");
        assert_eq!(readable_rate(12.34), "12.3");
    }
}
