//! Draws the charts of documents from their tables, so that numbers have one source.
//!
//! An image `![by row: ...](charts/NAME.svg)` below a table shows the table: for each row of numbers,
//! a bar per column; with `by column`, for each column of numbers, a bar per row.

mod draw;
mod table;

use std::path::Path;
use std::process::ExitCode;

use table::Table;

/// The documents with charts.
const DOCUMENTS: [&str; 1] = ["docs/benchmarks.md"];

/// A chart and its file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chart {
    /// Relative to the root of the workspace.
    pub(crate) path: String,
    pub(crate) svg: String,
}

/// Draws all charts.
pub(crate) fn run(root: &Path) -> ExitCode {
    for document in DOCUMENTS {
        let text = std::fs::read_to_string(root.join(document));
        let drawn = text.map(|text| charts(document, &text)).and_then(|charts| {
            charts.iter().try_for_each(|chart| std::fs::write(root.join(&chart.path), &chart.svg))
        });
        if let Err(error) = drawn {
            eprintln!("Cannot draw the charts of {document}: {error}.");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Returns the charts of every document that has a text.
pub(crate) fn expected<'t>(text: impl Fn(&str) -> Option<&'t str>) -> Vec<Chart> {
    let of = |document: &&str| text(document).map(|text| charts(document, text));
    DOCUMENTS.iter().filter_map(of).flatten().collect()
}

fn charts(document: &str, text: &str) -> Vec<Chart> {
    let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
    let lines: Vec<&str> = text.lines().collect();
    let chart = |(place, line): (usize, &&str)| {
        let (about, file) = line.strip_prefix("![")?.strip_suffix(')')?.split_once("](")?;
        file.ends_with(".svg").then_some(())?;
        let table = Table::above(&lines[..place])?;
        let groups = match about {
            _ if about.starts_with("by row") => table.by_row(),
            _ if about.starts_with("by column") => table.by_column(),
            _ => return None,
        };
        Some(Chart { path: format!("{folder}/{file}"), svg: draw::svg(&groups) })
    };
    lines.iter().enumerate().filter_map(chart).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Some words.

| | Keyloom | other |
|---|---:|---:|
| fast, µs | 20 µs | 1.5 ms |
| who | we | they |
| per second | 1,000 | 900 |

![by row: shorter is faster](charts/speed.svg)
";

    #[test]
    fn rows_of_numbers_are_drawn() {
        let charts = charts("docs/a.md", TEXT);
        assert_eq!(charts.len(), 1);
        let Chart { path, svg } = &charts[0];
        assert_eq!(path, "docs/charts/speed.svg");
        for word in ["fast, µs", "20 µs", "1.5 ms", "1,000"] {
            assert!(svg.contains(word), "{word} is missing in {svg}");
        }
        assert!(!svg.contains("they"));
    }

    #[test]
    fn columns_are_drawn_on_request() {
        let text = "| who | n | m |\n|---|---:|---:|\n| a | 1 | x |\n| b<c | 2 | 3 |\n\n![by column](c.svg)\n";
        let charts = charts("docs/a.md", text);
        assert!(charts[0].svg.contains("b&lt;c") && !charts[0].svg.contains(">m<"));
    }
}
