//! The charts of documents, drawn from the tables that they show: figures are in one place.
//!
//! An image `![by row: ...](charts/NAME.svg)` below a table is a picture of it: of each row whose cells
//! are figures, a bar for each column; `by column` of each such column, a bar for each row.

mod draw;
mod table;

use std::path::Path;
use std::process::ExitCode;

use table::Table;

/// The documents that have charts.
const DOCUMENTS: [&str; 1] = ["docs/benchmarks.md"];

/// A picture and where it is kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chart {
    /// From the workspace's folder.
    pub(crate) path: String,
    pub(crate) svg: String,
}

/// Draws all of them.
pub(crate) fn run(root: &Path) -> ExitCode {
    for document in DOCUMENTS {
        let text = std::fs::read_to_string(root.join(document));
        let drawn = text.map(|text| charts(document, &text)).and_then(|charts| {
            charts.iter().try_for_each(|chart| std::fs::write(root.join(&chart.path), &chart.svg))
        });
        if let Err(error) = drawn {
            eprintln!("The charts of {document} could not be drawn: {error}.");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The charts of every document of which there is a text.
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
    fn rows_of_figures_are_drawn() {
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
    fn columns_are_drawn_if_that_is_asked_for() {
        let text = "| who | n | m |\n|---|---:|---:|\n| a | 1 | x |\n| b<c | 2 | 3 |\n\n![by column](c.svg)\n";
        let charts = charts("docs/a.md", text);
        assert!(charts[0].svg.contains("b&lt;c") && !charts[0].svg.contains(">m<"));
    }
}
