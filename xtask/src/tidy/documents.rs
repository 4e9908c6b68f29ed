//! Documents that must match the code.

use super::{Finding, Workspace};

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const ARCHITECTURE_LINES_MAX: usize = 300;
const README: &str = "README.md";
const CI: &str = ".ci/run";

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    [check_architecture(workspace), check_readme(workspace)].concat()
}

fn check_architecture(workspace: &Workspace) -> Vec<Finding> {
    let Some(file) = workspace.text(ARCHITECTURE) else {
        return vec![Finding::new(ARCHITECTURE, 1, "write it: code map, invariants, boundaries.")];
    };
    let lines = file.text.lines().count();
    let length = (lines >= ARCHITECTURE_LINES_MAX).then(|| {
        let message = format!("{lines} lines: shorten it to fewer than {ARCHITECTURE_LINES_MAX}.");
        Finding::new(ARCHITECTURE, lines, message)
    });
    let crates = workspace.manifests.iter().filter(|m| m.path.starts_with("crates/"));
    let unnamed = crates
        .filter(|m| !file.text.contains(&m.package) && !file.text.contains(m.folder()))
        .map(|m| {
            let message = format!("it does not mention `{}`: describe it.", m.folder());
            Finding::new(ARCHITECTURE, 1, message)
        });
    length.into_iter().chain(unnamed).collect()
}

/// The README must mention the command that CI runs.
fn check_readme(workspace: &Workspace) -> Vec<Finding> {
    let ci = workspace.text(CI).map_or("", |file| &file.text);
    let commands: Vec<&str> = ci
        .lines()
        .map(|line| line.trim().trim_start_matches("exec "))
        .filter(|line| line.starts_with("cargo "))
        .collect();
    if commands.is_empty() {
        return vec![Finding::new(CI, 1, "it must run the command that runs all tests.")];
    }
    let readme = workspace.text(README).map_or("", |file| &file.text);
    let missing = commands.into_iter().filter(|command| !readme.contains(command));
    missing
        .map(|command| Finding::new(README, 1, format!("mention `{command}`, which {CI} calls.")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) =
        ("crates/value/Cargo.toml", "[package]\nname = \"keyloom-value\"\n");
    const CI_FILE: (&str, &str) = (CI, "#!/usr/bin/env bash\nexec cargo xtask ci\n");

    fn messages(architecture: &str, readme: &str) -> Vec<String> {
        let files = [MANIFEST, CI_FILE, (ARCHITECTURE, architecture), (README, readme)];
        check(&Workspace::sample(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn matching_documents_pass() {
        assert!(messages("`crates/value` holds items.", "Run `cargo xtask ci`.").is_empty());
    }

    #[test]
    fn outdated_documents_are_reported() {
        let readme = "Run `cargo xtask ci`.";
        let long = "crates/value\n".repeat(300);
        let cases = [
            (messages("Nothing.", readme), "ARCHITECTURE.md:1: it does not mention `crates/value`"),
            (messages(&long, readme), "ARCHITECTURE.md:300: 300 lines"),
            (messages("crates/value", ""), "README.md:1: mention `cargo xtask ci`"),
        ];
        for (found, expected) in cases {
            assert_eq!(found.len(), 1, "{expected}: {found:?}");
            assert!(found[0].starts_with(expected), "{found:?}");
        }
        let nothing = check(&Workspace::sample(&[]));
        assert_eq!(nothing.len(), 2, "{nothing:?}");
    }
}
