//! The charts of the applications equal the files in `tests/charts`. `KEYLOOM_BLESS=1` rewrites them:
//! review the diff, and look at the pictures.

use crate::process::{Folder, app, assert_written, output};

#[test]
fn the_charts_of_the_applications_are_as_recorded() {
    for name in ["tasks", "comments", "kitchen", "oncall"] {
        for (format, end) in [("terminal", "txt"), ("markdown", "md"), ("svg", "svg")] {
            let (success, out, err) = output(&["chart", &app(name), "--format", format]);
            assert!(success, "{err}");
            assert_written(&format!("tests/charts/{name}.{end}"), &out);
        }
    }
}

#[test]
fn a_chart_for_the_terminal_fits() {
    for name in ["tasks", "comments", "kitchen", "oncall"] {
        let (_, out, _) = output(&["chart", &app(name)]);
        let widest = out.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{widest:?}\n{out}");
    }
}

#[test]
fn a_chart_as_json_has_keys_and_costs() {
    let (success, out, err) = output(&["chart", &app("oncall"), "--json"]);
    assert!(success, "{err}");
    let chart: serde_json::Value = serde_json::from_str(&out).unwrap();
    let search = &chart["entities"][2];
    assert_eq!(search["name"], "search");
    let by_status = &search["reads"][3];
    assert_eq!(by_status["request"], "GET /contacts/{contact}/searches?status=…");
    assert_eq!(by_status["key"]["L1P"], "l search by_status {domain} {contact} {status}");
    assert_eq!(by_status["rows"], 41);
}

#[test]
fn a_chart_never_overwrites_a_file() {
    let folder = Folder::new("charted");
    let file = folder.write("chart.md", "mine");
    let (success, _, err) = output(&["chart", &app("tasks"), "--output", &file]);
    assert!(!success && err.contains("Existing files are not overwritten"), "{err}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let other = folder.path("other.md");
    assert!(output(&["chart", &app("tasks"), "--format", "markdown", "-o", &other]).0);
    assert!(std::fs::read_to_string(&other).unwrap().starts_with("# tasks\n"));
}
