//! The charts of the applications equal the files in `tests/charts`. `KEYLOOM_BLESS=1` rewrites them:
//! review the diff, and look at the pictures.

use crate::process::{Folder, app, assert_written, output};

#[test]
fn the_charts_of_the_applications_are_as_recorded() {
    for name in ["tasks", "comments", "kitchen", "oncall"] {
        for (format, end) in [
            ("terminal", "txt"),
            ("markdown", "md"),
            ("svg", "svg"),
            ("entities", "entities.svg"),
            ("html", "html"),
        ] {
            let (success, out, err) = output(&["chart", &app(name), "--format", format]);
            assert!(success, "{err}");
            assert_written(&format!("tests/charts/{name}.{end}"), &out);
        }
    }
}

#[test]
fn facet_lists_show_what_they_cost_to_read_and_to_keep() {
    let (_, out, _) = output(&["chart", &app("comments"), "--json"]);
    let chart: serde_json::Value = serde_json::from_str(&out).unwrap();
    let reads = chart["entities"].as_array().unwrap().iter().flat_map(|entity| {
        entity["reads"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|read| read["query"].as_str().unwrap().contains(" filtered by "))
    });
    let reads: Vec<_> = reads.collect();
    let (further, first): (Vec<&serde_json::Value>, Vec<&serde_json::Value>) =
        reads.iter().partition(|read| read["query"].as_str().unwrap().contains("each further"));
    assert!(!first.is_empty() && first.len() == further.len(), "{reads:?}");
    for (first, further) in first.into_iter().zip(further) {
        // A page of entities is read once; a further combination adds a page of index rows.
        let rows = [first, further].map(|read| read["rows"].as_u64());
        assert_eq!(rows, [Some(41), Some(21)]);
        assert!(first["write_units"].as_f64() >= Some(1.0), "{first}");
        assert!(further.get("write_units").is_none(), "one index entry serves all combinations");
    }
}

/// Nothing of a model can leave the text of a chart that a browser opens.
#[test]
fn a_chart_as_a_page_or_a_picture_escapes_everything() {
    let folder = Folder::new("chart-hostile");
    let model = "[entity.note]\nfields.text = \"text 1..200 = '<script>alert(1)</script>'\"\n\
                 list.all = {}\n[on.note]\ninsert = { webhook = \"https://a.test/?<img/src=x>\" }\n";
    let file = folder.write("<b>model.toml", model);
    for format in ["html", "entities", "svg"] {
        let (success, out, err) = output(&["chart", &file, "--format", format]);
        assert!(success, "{err}");
        assert!(
            !out.contains("<script>alert") && !out.contains("<img") && !out.contains("<b>"),
            "{format}: {out}"
        );
        let address = out.replace("http://www.w3.org/2000/svg", "");
        assert!(!address.contains("src=\"http") && !address.contains("href=\"http"), "{format}");
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
