//! Progress of long work: a bar on a terminal, a line now and then elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// As often as a person can read it.
const EVERY: Duration = Duration::from_millis(100);
/// Where lines pile up, as in a log.
const EVERY_LINE: Duration = Duration::from_secs(10);
const WIDTH: u64 = 24;

/// Shows on standard error how far something has come.
pub(crate) struct ProgressBar {
    is_terminal: bool,
    unit: &'static str,
    began: Instant,
    shown: Option<Instant>,
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
        let is_terminal = std::io::stderr().is_terminal();
        ProgressBar { is_terminal, unit, began: Instant::now(), shown: None }
    }

    /// Shows a step, unless one was shown just now.
    pub(crate) fn show(&mut self, step: Step) {
        let is_due = match (self.is_terminal, self.shown) {
            (true, shown) => shown.is_none_or(|shown| shown.elapsed() >= EVERY),
            (false, shown) => shown.unwrap_or(self.began).elapsed() >= EVERY_LINE,
        };
        if !is_due {
            return;
        }
        self.shown = Some(Instant::now());
        let line = line(step, self.unit, self.began.elapsed());
        // That nobody sees it is no reason to stop.
        let _ = match self.is_terminal {
            true => write!(std::io::stderr(), "\r{line}\x1b[K"),
            false => writeln!(std::io::stderr(), "{line}"),
        };
    }

    /// Makes room for other text.
    pub(crate) fn clear(&mut self) {
        if self.is_terminal && self.shown.take().is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }

    /// How long it has taken.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Such as `[######------]  50 %  1,000 rows  500/s  0:02 left`.
fn line(step: Step, unit: &str, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(0.001);
    let rate = grouped((step.count as f64 / seconds) as u64);
    let count = grouped(step.count);
    let Some(total) = step.total.filter(|total| *total > 0) else {
        return format!("{count} {unit}  {rate}/s");
    };
    let done = step.done.min(total);
    let filled = usize::try_from(done * WIDTH / total).unwrap_or_default();
    let rest = usize::try_from(WIDTH).unwrap_or_default() - filled;
    let bar = format!("{}{}", "#".repeat(filled), "-".repeat(rest));
    let left = match done {
        0 => String::new(),
        done => {
            let left = (seconds / done as f64 * (total - done) as f64) as u64;
            format!("  {}:{:02} left", left / 60, left % 60)
        }
    };
    format!("[{bar}] {:>3} %  {count} {unit}  {rate}/s{left}", done * 100 / total)
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_percent_rate_and_time_left() {
        let step = Step { count: 12_500, done: 25, total: Some(100) };
        assert_eq!(
            line(step, "entities", Duration::from_secs(25)),
            "[######------------------]  25 %  12,500 entities  500/s  1:15 left"
        );
        let unknown = Step { total: None, ..step };
        assert_eq!(line(unknown, "rows", Duration::from_secs(1)), "12,500 rows  12,500/s");
        let none = Step { count: 0, done: 0, total: Some(10) };
        let none = line(none, "rows", Duration::ZERO);
        assert_eq!(none, "[------------------------]   0 %  0 rows  0/s");
        let all = line(Step { count: 1, done: 9, total: Some(8) }, "rows", Duration::from_secs(1));
        assert_eq!(all, "[########################] 100 %  1 rows  1/s  0:00 left");
    }

    #[test]
    fn thousands_stand_apart() {
        let all = [0, 12, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(all, ["0", "12", "999", "1,000", "1,234,567"]);
    }
}
