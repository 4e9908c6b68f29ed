//! Progress of long work: a bar on a terminal, a line now and then elsewhere.

use std::io::Write;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressStyle};
use keyloom_app::operations::{Progress, Report};

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

impl ProgressBar {
    /// A bar that counts things of a kind.
    pub(crate) fn new(unit: &'static str) -> ProgressBar {
        let bar = indicatif::ProgressBar::no_length().with_style(style(STYLE_WITHOUT_TOTAL));
        ProgressBar { bar, unit, written: Instant::now() }
    }

    /// Shows what an operation tells; what belongs to its result goes elsewhere.
    pub(crate) fn hear(
        &mut self,
        told: Report,
        result: impl FnOnce(&str) -> Result<(), String>,
    ) -> Result<(), String> {
        match told {
            Report::Progress(progress) => self.show(progress),
            Report::Line(line) => return self.aside(|| result(&line)),
            // That nobody reads it is no reason to stop.
            Report::Problem(problem) => {
                self.aside(|| drop(writeln!(std::io::stderr(), "{problem}")))
            }
        }
        Ok(())
    }

    /// Shows how far it has come, unless that was shown just now.
    pub(crate) fn show(&mut self, progress: Progress) {
        if !self.bar.is_hidden() {
            return self.draw(progress);
        }
        if self.written.elapsed() >= EVERY_LINE {
            self.written = Instant::now();
            // That nobody sees it is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{}", line(progress, self.unit, self.elapsed()));
        }
    }

    /// Writes other text, above the bar.
    fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    /// How long it has taken.
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

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_percent_rate_and_time_left() {
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
