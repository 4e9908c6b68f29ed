//! Identity providers whose users a server accepts, from a file.
//!
//! ```toml
//! [[issuer]]
//! issuer   = "https://login.example.com/"                       # the claim `iss`
//! audience = "https://api.example.com"                          # the claim `aud`; or a list
//! keys     = "https://login.example.com/.well-known/jwks.json"  # or a file
//! leeway_secs = 60                                              # how far clocks may differ
//! subject_prefix = "login:"                                     # needed if there are several issuers
//! claims.subject = "sub"
//! claims.tenant  = "org_id"
//! claims.roles   = "realm_access.roles"
//! roles.ops      = ["admin"]                                    # what a claimed role stands for
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Arg, ArgMatches, value_parser};
use keyloom::SystemClock;
use keyloom_server::{ClaimNames, IssuerOptions, Issuers, KeySource};
use serde::Deserialize;

const OPTION: &str = "issuers";
/// By how much clocks may differ if the file does not say.
const LEEWAY_SECS: u64 = 60;
/// By how much they may differ at most.
const LEEWAY_SECS_MAX: u64 = 3600;

pub(crate) fn argument() -> Arg {
    Arg::new(OPTION).long(OPTION).value_name("FILE").value_parser(value_parser!(PathBuf)).help(
        "TOML file with the identity providers whose JSON Web Tokens are\n\
         accepted: see docs/access.md",
    )
}

/// The configured issuers, if any.
///
/// # Errors
///
/// If the file or the keys of an issuer cannot be read.
pub(crate) fn named(arguments: &ArgMatches) -> Result<Option<Issuers>, String> {
    let Some(path) = arguments.get_one::<PathBuf>(OPTION) else { return Ok(None) };
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| format!("cannot read {}: {error}.", path.display()))?;
    let in_file = |error: String| format!("{}: {}", path.display(), error.trim_end());
    let options = read(&text, path.parent().unwrap_or(Path::new(""))).map_err(in_file)?;
    Issuers::new(options, std::sync::Arc::new(SystemClock)).map(Some).map_err(in_file)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    issuer: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    issuer: String,
    audience: OneOrMore,
    keys: String,
    #[serde(default = "default_leeway")]
    leeway_secs: u64,
    #[serde(default)]
    subject_prefix: String,
    #[serde(default)]
    claims: Claims,
    #[serde(default)]
    roles: BTreeMap<String, OneOrMore>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    subject: Option<String>,
    tenant: Option<String>,
    roles: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn all(self) -> Vec<String> {
        match self {
            OneOrMore::One(one) => vec![one],
            OneOrMore::More(all) => all,
        }
    }
}

fn default_leeway() -> u64 {
    LEEWAY_SECS
}

/// Reads issuers. Paths are relative to a folder.
fn read(text: &str, folder: &Path) -> Result<Vec<IssuerOptions>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    if file.issuer.is_empty() {
        return Err("it has no issuer: add a table `[[issuer]]`.".to_owned());
    }
    file.issuer.into_iter().map(|entry| entry.options(folder)).collect()
}

impl Entry {
    fn options(self, folder: &Path) -> Result<IssuerOptions, String> {
        if self.leeway_secs > LEEWAY_SECS_MAX {
            return Err(format!("`leeway_secs` can be at most {LEEWAY_SECS_MAX}."));
        }
        let keys = match self.keys.contains("://") {
            true => KeySource::Url(self.keys),
            false => KeySource::File(folder.join(self.keys)),
        };
        let default = ClaimNames::default();
        let Claims { subject, tenant, roles } = self.claims;
        let subject = subject.unwrap_or(default.subject);
        Ok(IssuerOptions {
            issuer: self.issuer,
            audiences: self.audience.all(),
            keys,
            leeway: Duration::from_secs(self.leeway_secs),
            claims: ClaimNames { subject, tenant, roles },
            subject_prefix: self.subject_prefix,
            roles: self.roles.into_iter().map(|(name, roles)| (name, roles.all())).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_issuers() {
        let text = r#"
            [[issuer]]
            issuer = "https://a.example/"
            audience = ["api", "other"]
            keys = "https://a.example/keys"
            leeway_secs = 5
            claims.tenant = "org"
            claims.roles = "groups"
            roles.ops = "admin"
            roles.all = ["staff", "reader"]

            [[issuer]]
            issuer = "local"
            audience = "api"
            keys = "keys.json"
        "#;
        let [first, second] = &read(text, Path::new("/etc")).unwrap()[..] else { panic!() };
        assert_eq!(first.audiences, ["api", "other"]);
        assert_eq!(first.keys, KeySource::Url("https://a.example/keys".to_owned()));
        assert_eq!(first.leeway, Duration::from_secs(5));
        assert_eq!(first.claims.tenant.as_deref(), Some("org"));
        assert_eq!(first.roles["all"], ["staff", "reader"]);
        assert_eq!(second.keys, KeySource::File(PathBuf::from("/etc/keys.json")));
        assert_eq!((second.leeway.as_secs(), second.claims.subject.as_str()), (60, "sub"));
    }

    #[test]
    fn the_examples_of_the_guide_are_read() {
        let guide = include_str!("../../../docs/access.md");
        let examples: Vec<&str> =
            guide.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert_eq!(examples.len(), 2);
        for example in examples {
            let [issuer] = &read(example, Path::new("")).unwrap()[..] else { panic!("{example}") };
            assert!(matches!(&issuer.keys, KeySource::Url(url) if url.ends_with("jwks.json")));
        }
    }

    #[test]
    fn a_file_with_mistakes_is_refused_with_the_place() {
        for (text, expected) in [
            ("", "missing field `issuer`"),
            ("issuer = []", "no issuer"),
            (
                "[[issuer]]\nissuer = \"a\"\naudience = \"b\"\nkeys = \"c\"\nrole = 1",
                "unknown field",
            ),
            ("[[issuer]]\nissuer = \"a\"\nkeys = \"c\"", "missing field `audience`"),
            (
                "[[issuer]]\nissuer = \"a\"\naudience = \"b\"\nkeys = \"c\"\nleeway_secs = 9999",
                "at most 3600",
            ),
        ] {
            let error = read(text, Path::new("")).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
