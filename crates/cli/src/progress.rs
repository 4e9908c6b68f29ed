//! Progress of long work: a bar on a terminal, a line now and then elsewhere.

use std::io::Write;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressStyle};

/// How often a line is written where lines pile up, as in a log.
const EVERY_LINE: Duration = Duration::from_secs(10);
const STYLE: &str = "[{bar:24}] {percent:>3} %  {msg}  {eta} left";
const STYLE_WITHOUT_TOTAL: &str = "{msg}";

/// Shows on standard error how far something has come.
pub(crate) struct ProgressBar {
    /// Draws nothing where there is no terminal.
    bar: indicatif::ProgressBar,
    unit: &'static str,
    /// When a line was written last, or when it all began.
    written: Instant,
}

/// How far something has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    /// Things done.
    pub(crate) count: u64,
    /// Parts of the whole that are behind.
    pub(crate) done: u64,
    /// Parts of the whole, if it is known.
    pub(crate) total: Option<u64>,
}

impl ProgressBar {
    /// A bar that counts things of a kind.
    pub(crate) fn new(unit: &'static str) -> ProgressBar {
        let bar = indicatif::ProgressBar::no_length().with_style(style(STYLE_WITHOUT_TOTAL));
        ProgressBar { bar, unit, written: Instant::now() }
    }

    /// Shows a step, unless one was shown just now.
    pub(crate) fn show(&mut self, step: Step) {
        if !self.bar.is_hidden() {
            return self.draw(step);
        }
        if self.written.elapsed() >= EVERY_LINE {
            self.written = Instant::now();
            // That nobody sees it is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{}", line(step, self.unit, self.elapsed()));
        }
    }

    /// Writes other text, above the bar.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    /// How long it has taken.
    pub(crate) fn elapsed(&self) -> Duration {
        self.bar.elapsed()
    }

    fn draw(&self, step: Step) {
        if let Some(total) = step.total.filter(|total| *total > 0) {
            if self.bar.length().is_none() {
                self.bar.set_style(style(STYLE));
            }
            self.bar.set_length(total);
            self.bar.set_position(step.done.min(total));
        }
        self.bar.set_message(counted(step, self.unit, self.elapsed()));
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("#-")
}

/// Such as `1,000 rows  500/s`.
fn counted(step: Step, unit: &str, elapsed: Duration) -> String {
    let rate = grouped((step.count as f64 / elapsed.as_secs_f64().max(0.001)) as u64);
    format!("{} {unit}  {rate}/s", grouped(step.count))
}

/// Such as `50 %  1,000 rows  500/s  0:02 left`.
fn line(step: Step, unit: &str, elapsed: Duration) -> String {
    let counted = counted(step, unit, elapsed);
    let Some(total) = step.total.filter(|total| *total > 0) else { return counted };
    let done = step.done.min(total);
    let left = match done {
        0 => String::new(),
        done => {
            let left = elapsed.as_secs_f64() / done as f64 * (total - done) as f64;
            let left = left as u64;
            format!("  {}:{:02} left", left / 60, left % 60)
        }
    };
    format!("{} %  {counted}{left}", done * 100 / total)
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_percent_rate_and_time_left() {
        let step = Step { count: 12_500, done: 25, total: Some(100) };
        assert_eq!(
            line(step, "entities", Duration::from_secs(25)),
            "25 %  12,500 entities  500/s  1:15 left"
        );
        let unknown = Step { total: None, ..step };
        assert_eq!(line(unknown, "rows", Duration::from_secs(1)), "12,500 rows  12,500/s");
        let none = Step { count: 0, done: 0, total: Some(10) };
        assert_eq!(line(none, "rows", Duration::ZERO), "0 %  0 rows  0/s");
        let all = line(Step { count: 1, done: 9, total: Some(8) }, "rows", Duration::from_secs(1));
        assert_eq!(all, "100 %  1 rows  1/s  0:00 left");
    }

    #[test]
    fn the_templates_are_templates() {
        assert!(
            [STYLE, STYLE_WITHOUT_TOTAL]
                .map(ProgressStyle::with_template)
                .iter()
                .all(Result::is_ok)
        );
    }

    #[test]
    fn thousands_stand_apart() {
        let all = [0, 12, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(all, ["0", "12", "999", "1,000", "1,234,567"]);
    }
}
