//! Charts match the tables of their documents.

use super::{Finding, Workspace};
use crate::charts;

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let text = |path: &str| workspace.text(path).map(|file| file.text.as_str());
    let is_outdated = |chart: &charts::Chart| text(&chart.path) != Some(chart.svg.as_str());
    let charts = charts::expected(text).into_iter().filter(is_outdated);
    let finding = |chart: charts::Chart| {
        Finding::new(&chart.path, 1, "it does not match its table: run `cargo xtask charts`.")
    };
    charts.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_or_outdated_chart_is_reported() {
        let document = (
            "docs/benchmarks.md",
            "| a | b | c |\n|---|---|---|\n| n | 1 | 2 |\n\n![by row](charts/n.svg)\n",
        );
        for files in [vec![document], vec![document, ("docs/charts/n.svg", "<svg/>")]] {
            let found = check(&Workspace::sample(&files));
            assert_eq!(found.len(), 1);
            assert!(found[0].to_string().starts_with("docs/charts/n.svg:1"), "{found:?}");
        }
    }
}
