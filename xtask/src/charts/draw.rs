//! Draws bars, one below the other. Each group has its own, logarithmic scale: numbers differ by
//! factors of hundreds.

use std::fmt::Write as _;

use super::table::{Bar, Group};

const WIDTH: f64 = 860.0;
const MARGIN: f64 = 20.0;
const BAR: f64 = 18.0;
const STEP: f64 = 23.0;
const HEADING: f64 = 34.0;
const BARS_LEFT: f64 = 190.0;
const BARS_WIDTH: f64 = 540.0;
/// The width of the shortest bar, as a fraction.
const SHORTEST: f64 = 0.03;

const OURS: &str = "#1d4fb8";
const OTHERS: &str = "#aab4c8";

pub(super) fn svg(groups: &[Group]) -> String {
    let mut body = String::new();
    let mut y = MARGIN;
    for group in groups {
        y = draw_group(&mut body, group, y);
    }
    let height = y + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#1f2430\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

/// Draws a group from `y` on; returns its end.
fn draw_group(body: &mut String, group: &Group, mut y: f64) -> f64 {
    let heading = escaped(&group.heading);
    text(body, (MARGIN, y + BAR), "font-weight=\"600\"", &heading);
    y += HEADING;
    let values = || group.bars.iter().map(|bar| bar.value);
    let least = values().fold(f64::INFINITY, f64::min);
    let most = values().fold(0.0, f64::max);
    for bar in &group.bars {
        let part = if most > least { (bar.value / least).ln() / (most / least).ln() } else { 1.0 };
        draw_bar(body, bar, (SHORTEST + (1.0 - SHORTEST) * part) * BARS_WIDTH, y);
        y += STEP;
    }
    y
}

fn draw_bar(body: &mut String, bar: &Bar, width: f64, y: f64) {
    let color = if bar.name.to_lowercase().starts_with("keyloom") { OURS } else { OTHERS };
    let middle = y + BAR - 4.0;
    text(body, (BARS_LEFT - 8.0, middle), "text-anchor=\"end\"", &escaped(&bar.name));
    // Writing to a string cannot fail.
    let _ = writeln!(
        body,
        "<rect x=\"{BARS_LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"3\" fill=\"{color}\"/>"
    );
    text(body, (BARS_LEFT + width + 8.0, middle), "", &escaped(&bar.figure));
}

fn text(body: &mut String, (x, y): (f64, f64), more: &str, words: &str) {
    let _ = writeln!(body, "<text x=\"{x:.1}\" y=\"{y}\" {more}>{words}</text>");
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
