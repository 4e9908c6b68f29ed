//! Every package we build with may be used, changed and passed on with only a notice.

use super::Finding;
use super::json::Json;

/// Licences we take. Copyleft, even by file, is not among them.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Where the versions of all packages are.
const LOCK: &str = "Cargo.lock";

/// Judges what `cargo metadata` printed.
pub(crate) fn check(metadata: &str) -> Vec<Finding> {
    let json = Json::parse(metadata);
    let packages =
        json.as_ref().and_then(|json| json.get("packages")).map_or(&[][..], Json::elements);
    if packages.is_empty() {
        return vec![Finding::new(LOCK, 1, "`cargo metadata` named no packages: run it by hand.")];
    }
    packages.iter().filter_map(check_package).collect()
}

fn check_package(package: &Json) -> Option<Finding> {
    let member = |name| package.get(name).and_then(Json::text);
    let named = format!("`{} {}`", member("name").unwrap_or("?"), member("version").unwrap_or("?"));
    let message = match member("license") {
        None => format!("{named} states no licence: use another package."),
        Some(licence) if !is_allowed(licence) => format!(
            "{named} is under `{licence}`, which is not in the list in \
             xtask/src/tidy/licences.rs: use another package."
        ),
        Some(_) => return None,
    };
    Some(Finding::new(LOCK, 1, message))
}

/// Whether a licence expression can be met with allowed licences alone.
///
/// ```text
/// any  = all { ( "OR" | "/" ) all }
/// all  = one { "AND" one }
/// one  = "(" any ")" | name [ "WITH" name ]
/// ```
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Expression { words: &words };
    reader.any() == Some(true) && reader.words.is_empty()
}

struct Expression<'a> {
    words: &'a [&'a str],
}

impl Expression<'_> {
    fn any(&mut self) -> Option<bool> {
        let mut allowed = self.all()?;
        while self.eat("OR") {
            allowed |= self.all()?;
        }
        Some(allowed)
    }

    fn all(&mut self) -> Option<bool> {
        let mut allowed = self.one()?;
        while self.eat("AND") {
            allowed &= self.one()?;
        }
        Some(allowed)
    }

    fn one(&mut self) -> Option<bool> {
        if self.eat("(") {
            let allowed = self.any()?;
            return self.eat(")").then_some(allowed);
        }
        let mut name = self.next()?.to_owned();
        if self.eat("WITH") {
            name = format!("{name} WITH {}", self.next()?);
        }
        Some(ALLOWED.contains(&name.as_str()))
    }

    fn next(&mut self) -> Option<&str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn eat(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_allowed_if_allowed_licences_meet_it() {
        let allowed = [
            "MIT",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
            "Unlicense/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
        ];
        let refused = [
            "MPL-2.0",
            "MIT AND GPL-3.0",
            "(MIT OR Apache-2.0) AND MPL-2.0",
            "Apache-2.0 WITH odd-exception",
            "",
            "MIT OR",
            "MIT MIT",
            "(MIT",
        ];
        for expression in allowed {
            assert!(is_allowed(expression), "{expression}");
        }
        for expression in refused {
            assert!(!is_allowed(expression), "{expression}");
        }
    }

    #[test]
    fn packages_without_an_allowed_licence_are_named() {
        let metadata = r#"{"packages": [
            {"name": "a", "version": "1.0.0", "license": "MIT", "description": "\"license\":\"X\""},
            {"name": "b", "version": "2.0.0", "license": "MPL-2.0"},
            {"name": "c", "version": "3.0.0", "license": null}
        ]}"#;
        let found: Vec<String> = check(metadata).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("`b 2.0.0` is under `MPL-2.0`"));
        assert!(found[1].contains("`c 3.0.0` states no licence"));
    }

    #[test]
    fn no_packages_at_all_is_a_complaint() {
        assert_eq!(check("{\"packages\": []}").len(), 1);
        assert_eq!(check("not json").len(), 1);
    }
}
