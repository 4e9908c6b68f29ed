//! Progress of long operations: a bar on a terminal, an occasional line elsewhere.

use std::io::Write;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressStyle};
use keyloom_app::operations::{Progress, Report};

/// The interval between lines where stderr is not a terminal, such as a log.
const EVERY_LINE: Duration = Duration::from_secs(10);
const STYLE: &str = "[{bar:24}] {percent:>3} %  {msg}  {eta} left";
const STYLE_WITHOUT_TOTAL: &str = "{msg}";

/// Shows the progress of an operation on stderr.
pub(crate) struct ProgressBar {
    /// Hidden if stderr is not a terminal.
    bar: indicatif::ProgressBar,
    unit: &'static str,
    /// The time of the last line, or of the start.
    written: Instant,
}

impl ProgressBar {
    /// Creates a bar that counts `unit`, such as `rows`.
    pub(crate) fn new(unit: &'static str) -> ProgressBar {
        let bar = indicatif::ProgressBar::no_length().with_style(style(STYLE_WITHOUT_TOTAL));
        ProgressBar { bar, unit, written: Instant::now() }
    }

    /// Shows an update of an operation; lines of its result go to `result`.
    pub(crate) fn handle(
        &mut self,
        update: Report,
        result: impl FnOnce(&str) -> Result<(), String>,
    ) -> Result<(), String> {
        match update {
            Report::Progress(progress) => self.show(progress),
            Report::Line(line) => return self.above(|| result(&line)),
            // A closed stderr must not stop the operation.
            Report::Problem(problem) => {
                self.above(|| drop(writeln!(std::io::stderr(), "{problem}")))
            }
        }
        Ok(())
    }

    /// Shows the progress; at most one line per interval if there is no bar.
    pub(crate) fn show(&mut self, progress: Progress) {
        if !self.bar.is_hidden() {
            return self.draw(progress);
        }
        if self.written.elapsed() >= EVERY_LINE {
            self.written = Instant::now();
            // A closed stderr must not stop the operation.
            let _ = writeln!(std::io::stderr(), "{}", line(progress, self.unit, self.elapsed()));
        }
    }

    /// Writes other text above the bar.
    fn above<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    fn elapsed(&self) -> Duration {
        self.bar.elapsed()
    }

    fn draw(&self, progress: Progress) {
        if let Some(total) = progress.total.filter(|total| *total > 0) {
            if self.bar.length().is_none() {
                self.bar.set_style(style(STYLE));
            }
            self.bar.set_length(total);
            self.bar.set_position(progress.done.min(total));
        }
        self.bar.set_message(counted(progress, self.unit, self.elapsed()));
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
fn counted(progress: Progress, unit: &str, elapsed: Duration) -> String {
    let rate = grouped((progress.count as f64 / elapsed.as_secs_f64().max(0.001)) as u64);
    format!("{} {unit}  {rate}/s", grouped(progress.count))
}

/// Such as `50 %  1,000 rows  500/s  0:02 left`.
fn line(progress: Progress, unit: &str, elapsed: Duration) -> String {
    let counted = counted(progress, unit, elapsed);
    let Some(total) = progress.total.filter(|total| *total > 0) else { return counted };
    let done = progress.done.min(total);
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

/// Formats a number with thousands separators.
pub(crate) fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_percent_rate_and_time_left() {
        let progress = Progress { count: 12_500, done: 25, total: Some(100) };
        assert_eq!(
            line(progress, "entities", Duration::from_secs(25)),
            "25 %  12,500 entities  500/s  1:15 left"
        );
        let unknown = Progress { total: None, ..progress };
        assert_eq!(line(unknown, "rows", Duration::from_secs(1)), "12,500 rows  12,500/s");
        let none = Progress { count: 0, done: 0, total: Some(10) };
        assert_eq!(line(none, "rows", Duration::ZERO), "0 %  0 rows  0/s");
        let all =
            line(Progress { count: 1, done: 9, total: Some(8) }, "rows", Duration::from_secs(1));
        assert_eq!(all, "100 %  1 rows  1/s  0:00 left");
    }

    #[test]
    fn the_templates_are_valid() {
        assert!(
            [STYLE, STYLE_WITHOUT_TOTAL]
                .map(ProgressStyle::with_template)
                .iter()
                .all(Result::is_ok)
        );
    }

    #[test]
    fn thousands_are_separated() {
        let all = [0, 12, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(all, ["0", "12", "999", "1,000", "1,234,567"]);
    }
}
