//! `docs/problems.md` and `docs/metrics.md` are written from what the server itself knows and says.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use keyloom_server::Kind;

use crate::process::{Folder, Served, Serving, assert_written, fetch, keyloom};

const PROBLEMS: &str = "\
# Problems

Every error of the HTTP API is `application/problem+json`. `code` identifies the problem for programs, and its meaning never
changes. `detail` says what is wrong with this very request and how to fix it; `errors` lists every field that does not fit.
[HTTP](http.md#errors) has an example. `type` is `urn:keyloom:problem:CODE`.

A test writes this page from the table that the server uses; `KEYLOOM_BLESS=1 cargo test -p keyloom-cli reference` rewrites it.

| status | code | meaning | what to do |
|---:|---|---|---|
";

const METRICS: &str = "\
# Metrics

`GET /metrics` returns the OpenMetrics text format. It requires a token with the role `admin`, once there are tokens;
`keyloom dynamodb` serves it to clients on its own machine only.

A test writes this page from what servers respond; `KEYLOOM_BLESS=1 cargo test -p keyloom-cli reference` rewrites it.
";

/// The sections of the page, by how names begin. A name is in the first that fits.
const SECTIONS: [(&str, &str); 4] = [
    ("Engine", "keyloom_engine_"),
    ("DynamoDB", "keyloom_dynamodb_"),
    ("Events, jobs and background operations", "keyloom_consumer_ keyloom_jobs keyloom_operations"),
    ("Requests", "keyloom_"),
];

/// Each has a consumer, whose metrics are labeled.
const MODEL: &str = "[entity.task]\nfields.name = \"text\"\n[on.task]\ninsert = \"handler\"\n";

#[test]
fn the_page_of_problems_lists_every_code() {
    let mut page = PROBLEMS.to_owned();
    for kind in Kind::ALL {
        let (status, code) = (kind.status(), kind.code());
        writeln!(page, "| {status} | `{code}` | {} | {} |", kind.title(), kind.remedy()).unwrap();
    }
    assert_written("../../docs/problems.md", &page);
}

#[test]
fn the_page_of_metrics_lists_every_metric() {
    let folder = Folder::new("metrics");
    let model = folder.write("model.toml", MODEL);
    let embedded = Serving::start(&model, &["--data", &folder.path("data")]);
    let endpoint = Served::start("metrics-dynamodb");
    let mut command = keyloom();
    command.args(["serve", &model, "--dynamodb", "tasks", "--region", "us-east-1"]);
    command.args(["--endpoint-url", &endpoint.url, "--listen", "127.0.0.1:0", "--log", "nothing"]);
    // The endpoint accepts any access key.
    command.env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b");
    let remote = Serving::spawn(command);
    let mut metrics = BTreeMap::new();
    for url in [&embedded.url, &remote.url] {
        // The first request is counted when the second one is answered.
        fetch(url, "/metrics");
        metrics.extend(metrics_of(&fetch(url, "/metrics")));
    }
    let mut page = METRICS.to_owned();
    for (heading, prefixes) in SECTIONS {
        write!(page, "\n## {heading}\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
            .unwrap();
        let is_here = |name: &str| prefixes.split(' ').any(|prefix| name.starts_with(prefix));
        let (here, rest) = metrics.into_iter().partition(|(name, _)| is_here(name));
        metrics = rest;
        let here: BTreeMap<String, Metric> = here;
        for (name, Metric { of, labels, help }) in here {
            writeln!(page, "| `{name}` | {of} | {labels} | {help} |").unwrap();
        }
    }
    assert_written("../../docs/metrics.md", &page);
}

/// What a server says about a metric.
#[derive(Default)]
struct Metric {
    of: String,
    labels: String,
    help: String,
}

/// Reads the descriptions in a response, by the names under which samples are found.
fn metrics_of(text: &str) -> BTreeMap<String, Metric> {
    let mut metrics: BTreeMap<String, Metric> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(name), Some(help)) => {
                metrics.entry(name.to_owned()).or_default().help =
                    help.trim_end_matches('.').to_owned();
            }
            (Some("#"), Some("TYPE"), Some(name), Some(of)) => {
                metrics.entry(name.to_owned()).or_default().of = of.to_owned();
            }
            (Some("#"), ..) => {}
            _ => {
                let (name, labels) = line.split_once('{').unwrap_or((line, "}"));
                let labels = labels.split_once('}').unwrap().0;
                let of = |(name, _): &(&String, &mut Metric)| name_of_sample(line, name);
                let metric =
                    metrics.iter_mut().find(of).unwrap_or_else(|| panic!("{name}: no description"));
                let names = labels.split(',').filter_map(|label| label.split_once('='));
                let names: Vec<String> = names
                    .filter(|(name, _)| *name != "le")
                    .map(|(name, _)| format!("`{name}`"))
                    .collect();
                metric.1.labels = names.join(", ");
            }
        }
    }
    let named = |(name, metric): (String, Metric)| match metric.of.as_str() {
        "counter" => (format!("{name}_total"), metric),
        _ => (name, metric),
    };
    metrics.into_iter().map(named).collect()
}

/// Whether a line is a sample of the metric with this name.
fn name_of_sample(line: &str, name: &str) -> bool {
    let suffix = line.strip_prefix(name).and_then(|rest| rest.split(['{', ' ']).next());
    suffix.is_some_and(|suffix| ["", "_total", "_bucket", "_sum", "_count"].contains(&suffix))
}
