//! Checks `docs/services.md`, the page that maps every access pattern of a service to its request,
//! the lines of the model that declare it and the tests that cover it.
//!
//! The section of a service begins with a second-level heading and links to `apps/NAME/model.toml`.
//! It has one table of patterns, quotes of the model in blocks marked `toml`, a numbered list of
//! tests, and the requests in blocks marked `sh`, which [`readme::run`] runs.
//!
//! It knows no service and starts none: tests do, because each program belongs to another package.

use crate::readme::{self, ADDRESS, Process};

/// The header row of a table of patterns.
const HEADER: &str = "| Pattern | Request | Model | Tests |";
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// The section of the page about one service.
#[derive(Debug)]
pub struct Service<'a> {
    /// The name of its folder in `apps`.
    pub app: &'a str,
    text: &'a str,
}

/// One row of a table of patterns.
#[derive(Debug)]
pub struct Pattern<'a> {
    /// Its description, beginning with its published label if it has one.
    pub name: &'a str,
    requests: Vec<&'a str>,
    tables: Vec<&'a str>,
    tests: Vec<&'a str>,
}

/// A test that the page names.
#[derive(Debug)]
struct Test<'a> {
    number: &'a str,
    function: &'a str,
    file: &'a str,
    line: &'a str,
}

/// Returns the services of a page, in order.
pub fn all(page: &str) -> Vec<Service<'_>> {
    let parts = page.split("\n## ").skip(1);
    parts.filter_map(|text| Some(Service { app: app(text)?, text })).collect()
}

/// Returns the section about one service.
///
/// # Panics
///
/// If the page has none.
pub fn of<'a>(page: &'a str, app: &str) -> Service<'a> {
    let found = all(page).into_iter().find(|service| service.app == app);
    found.unwrap_or_else(|| panic!("the page has no section that links to apps/{app}/model.toml"))
}

/// Returns the fenced blocks of one language.
fn texts(page: &str, language: &str) -> Vec<String> {
    let blocks = readme::blocks(page).into_iter().filter(|block| block.language == language);
    blocks.map(|block| block.text).collect()
}

fn app(text: &str) -> Option<&str> {
    let (before, _) = text.split_once("/model.toml")?;
    before.rsplit_once("apps/").map(|(_, app)| app)
}

impl<'a> Service<'a> {
    /// Runs every request against a server of the service.
    ///
    /// # Panics
    ///
    /// If a request fails, or its answer differs from the one on the page.
    pub fn run(&self, server: &Process) {
        let count = readme::run(self.text, server);
        assert!(count > 0, "{}: no requests", self.app);
    }

    /// Returns the rows of its table.
    pub fn patterns(&self) -> Vec<Pattern<'a>> {
        let lines = self.text.lines().skip_while(|line| *line != HEADER).skip(2);
        lines.take_while(|line| line.starts_with('|')).map(pattern).collect()
    }

    /// Returns everything wrong on the page; `read` reads files of the project.
    pub fn faults(&self, read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
        let (patterns, tests) = (self.patterns(), self.tests());
        let mut faults = vec![];
        if patterns.is_empty() {
            faults.push(format!("no table that begins with `{HEADER}`"));
        }
        for pattern in &patterns {
            faults.extend(self.faults_of_pattern(pattern, &tests));
        }
        let is_used = |test: &Test<'_>| patterns.iter().any(|row| row.tests.contains(&test.number));
        let unused = tests.iter().filter(|test| !is_used(test));
        faults.extend(unused.map(|test| format!("no pattern has the test {}", test.number)));
        faults.extend(tests.iter().filter_map(|test| test.fault(read)));
        let model = read(&format!("apps/{}/model.toml", self.app)).unwrap_or_default();
        faults.extend(self.faults_of_quotes(&model));
        faults.into_iter().map(|fault| format!("{}: {fault}", self.app)).collect()
    }

    fn faults_of_pattern(&self, pattern: &Pattern<'_>, tests: &[Test<'_>]) -> Vec<String> {
        let Pattern { name, requests, tables, tests: numbers } = pattern;
        let mut faults = vec![];
        if requests.is_empty() || tables.is_empty() || numbers.is_empty() {
            faults.push(format!("`{name}` lacks a request, a table of the model or a test"));
        }
        let commands = texts(self.text, "sh").join("\n").replace("%3C", "<");
        let commands = commands.replace("%3E", ">");
        let missing = requests.iter().filter(|request| !is_sent(request, &commands));
        faults.extend(missing.map(|request| format!("`{request}` is not run")));
        let quotes = texts(self.text, "toml").join("\n");
        let is_quoted = |table: &str| {
            quotes
                .lines()
                .any(|line| line == format!("[{table}]") || line == format!("[entity.{table}]"))
        };
        let missing = tables.iter().filter(|table| !is_quoted(table));
        faults.extend(missing.map(|table| format!("the table `{table}` is not quoted")));
        let is_listed = |number: &str| tests.iter().any(|test| test.number == number);
        let missing = numbers.iter().filter(|number| !is_listed(number));
        faults.extend(missing.map(|number| format!("`{name}`: there is no test {number}")));
        faults
    }

    fn tests(&self) -> Vec<Test<'a>> {
        let test = |line: &'a str| {
            let (number, rest) = line.split_once(". `")?;
            let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
            let [function, file] = code(&line[line.len() - rest.len() - 1..])[..] else {
                return None;
            };
            is_number.then_some(Test { number, function, file, line })
        };
        self.text.lines().filter_map(test).collect()
    }

    /// Finds quoted lines that are missing from the table of the model under which they are quoted.
    /// A trailing comment in the model may be omitted.
    fn faults_of_quotes(&self, model: &str) -> Vec<String> {
        let mut faults = vec![];
        for quote in texts(self.text, "toml") {
            let mut table = "";
            for line in quote.lines().filter(|line| !line.is_empty()) {
                if line.starts_with('[') {
                    table = line;
                }
                if !table_of(model, table).any(|other| is_line(line, other)) {
                    faults.push(format!("the model has no line `{line}` under `{table}`"));
                }
            }
        }
        faults
    }
}

impl Test<'_> {
    fn fault(&self, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
        let Test { function, file, line, .. } = self;
        if !line.ends_with(&format!("[`{file}`](../{file})")) {
            return Some(format!("the link is not to the file that it names: {line}"));
        }
        let Some(text) = read(file) else { return Some(format!("there is no file {file}")) };
        let declared = format!("fn {function}(");
        let mut before = "";
        for line in text.lines().map(str::trim) {
            if line.starts_with(&declared) && before == "#[test]" {
                return None;
            }
            before = line;
        }
        Some(format!("{file} has no test `{function}`"))
    }
}

fn pattern(row: &str) -> Pattern<'_> {
    let mut cells = row.trim_matches('|').split('|').map(str::trim);
    let mut cell = || cells.next().unwrap_or_default();
    let (name, requests, tables, tests) = (cell(), cell(), cell(), cell());
    let is_request = |code: &&str| METHODS.contains(&code.split(' ').next().unwrap_or_default());
    Pattern {
        name,
        requests: code(requests).into_iter().filter(is_request).collect(),
        tables: code(tables),
        tests: tests.split(',').map(str::trim).filter(|number| !number.is_empty()).collect(),
    }
}

/// Returns the parts between backticks.
fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Whether a line of the commands sends this request: `GET /path?query`.
fn is_sent(request: &str, commands: &str) -> bool {
    let (method, path) = request.split_once(' ').unwrap_or_default();
    let url = format!("{ADDRESS}{path}");
    let ends = |rest: &str| rest.chars().next().is_none_or(|c| " \"')".contains(c));
    let has_url =
        |line: &str| line.match_indices(&url).any(|(offset, _)| ends(&line[offset + url.len()..]));
    commands.lines().any(|line| has_url(line) && method_of(line) == method)
}

/// Returns the HTTP method that curl uses.
fn method_of(line: &str) -> &str {
    match line.split_once("-X ") {
        Some((_, rest)) => rest.split(' ').next().unwrap_or_default(),
        None if line.contains("--json") => "POST",
        None => "GET",
    }
}

/// Returns the lines of a table of a model, its header first.
fn table_of<'m>(model: &'m str, header: &str) -> impl Iterator<Item = &'m str> {
    let lines = model.lines().skip_while(move |line| !is_line(header, line));
    let mut seen = 0;
    lines.take_while(move |line| {
        seen += usize::from(line.starts_with('['));
        seen == 1
    })
}

fn is_line(quoted: &str, line: &str) -> bool {
    let rest = line.strip_prefix(quoted).map(str::trim_start);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Page\n\n## About\n\nNothing.\n\n## Notes\n\nSee apps/notes/model.toml.\n\n\
        | Pattern | Request | Model | Tests |\n|---|---|---|---|\n\
        | **N1** all notes | `GET /notes`<br>`DELETE /notes/$ID` | `note.list.all` | 1 |\n\n\
        ```toml\n[entity.note.list.all]\npath  = \"/notes\"\n```\n\n\
        1. `notes_are_listed` in [`tests/notes.rs`](../tests/notes.rs)\n\n\
        ```sh\ncurl \"http://127.0.0.1:8080/notes\" | jq .\n\
        curl -X DELETE http://127.0.0.1:8080/notes/$ID\n```\n";
    const MODEL: &str = "[entity.note]\nfields.name = \"text\"\n\n[entity.note.list.all] # all\n\
        path  = \"/notes\"   # the path\n[entity.note.list.old]\norder = \"age\"\n";
    const TESTS: &str = "#[test]\nfn notes_are_listed() {}\n\nfn notes_are_made() {}\n";

    fn faults(page: &str) -> Vec<String> {
        let read = |path: &str| match path {
            "apps/notes/model.toml" => Some(MODEL.to_owned()),
            "tests/notes.rs" => Some(TESTS.to_owned()),
            _ => None,
        };
        of(page, "notes").faults(&read)
    }

    #[test]
    fn a_correct_page_has_no_errors() {
        assert_eq!(faults(PAGE), Vec::<String>::new());
        assert_eq!(all(PAGE).len(), 1, "the first part is about no service");
        assert_eq!(of(PAGE, "notes").patterns()[0].name, "**N1** all notes");
    }

    #[test]
    fn every_false_statement_is_an_error() {
        for (is, becomes, fault) in [
            ("| Pattern |", "| What |", "no table"),
            ("`GET /notes`<br>", "`GET /note`", "`GET /note` is not run"),
            ("`GET /notes`<br>", "`POST /notes`", "`POST /notes` is not run"),
            ("curl -X DELETE", "curl", "`DELETE /notes/$ID` is not run"),
            ("notes\" | jq", "notes?a=b\" | jq", "`GET /notes` is not run"),
            ("`note.list.all`", "`note.list.old`", "the table `note.list.old` is not quoted"),
            ("| `note.list.all`", "| ", "lacks a request"),
            ("path  =", "path =", "no line `path = \"/notes\"` under `[entity.note.list.all]`"),
            ("path  = \"/notes\"", "order = \"age\"", "no line `order = \"age\"` under"),
            ("[entity.note.list.all]\n", "", "no line `path  = \"/notes\"` under ``"),
            ("| 1 |", "| 2 |", "there is no test 2"),
            ("| 1 |", "| 2 |", "no pattern has the test 1"),
            ("`notes_are_listed`", "`notes_are_made`", "has no test `notes_are_made`"),
            ("../tests/notes.rs", "../notes.rs", "the link is not to the file"),
            ("tests/notes.rs", "tests/note.rs", "there is no file tests/note.rs"),
        ] {
            let found = faults(&PAGE.replace(is, becomes)).join("\n");
            assert!(found.contains(fault), "{becomes}: {found}");
        }
    }
}
