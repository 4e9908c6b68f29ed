//! Access keys and their secrets, from a file.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

type Secrets = BTreeMap<String, String>;

/// Access keys with their secrets. Clones share them, also after [`Credentials::replace`].
#[derive(Clone, Default)]
pub struct Credentials {
    secrets: Arc<RwLock<Secrets>>,
}

/// Why a credentials file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Line {line}: {why}. Write aws_access_key_id and aws_secret_access_key as in ~/.aws/credentials."
)]
pub struct CredentialsError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub why: &'static str,
}

impl Credentials {
    /// Parses the format of `~/.aws/credentials`. The keys of all profiles are accepted.
    ///
    /// ```text
    /// file    ::= (profile | setting | comment)*
    /// profile ::= "[" name "]"
    /// setting ::= ("aws_access_key_id" | "aws_secret_access_key" | other) "=" value
    /// comment ::= ("#" | ";") text
    /// ```
    ///
    /// # Errors
    ///
    /// If a line is malformed, a key has no secret, or there are no keys.
    pub fn parse(text: &str) -> Result<Credentials, CredentialsError> {
        let mut secrets = Secrets::new();
        let (mut key, mut secret) = (None, None);
        let mut last = 0;
        for (index, line) in text.lines().map(str::trim).enumerate() {
            last = index + 1;
            let refuse = |why| Err(CredentialsError { line: last, why });
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if line.starts_with('[') {
                add(&mut secrets, last, (key.take(), secret.take()))?;
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                return refuse("it is neither `[profile]` nor `name = value`");
            };
            let value = value.trim().to_owned();
            match name.trim() {
                "aws_access_key_id" if value.is_empty() => return refuse("the key is empty"),
                "aws_secret_access_key" if value.is_empty() => {
                    return refuse("the secret is empty");
                }
                "aws_access_key_id" => key = Some(value),
                "aws_secret_access_key" => secret = Some(value),
                _ => {}
            }
        }
        add(&mut secrets, last, (key, secret))?;
        if secrets.is_empty() {
            return Err(CredentialsError { line: last, why: "the file has no keys" });
        }
        Ok(Credentials { secrets: Arc::new(RwLock::new(secrets)) })
    }

    /// Replaces the keys by those of `others`, for all clones.
    pub fn replace(&self, others: &Credentials) {
        let others = others.read().clone();
        *self.secrets.write().unwrap_or_else(PoisonError::into_inner) = others;
    }

    /// The secret of a key.
    pub(super) fn secret(&self, key: &str) -> Option<String> {
        self.read().get(key).cloned()
    }

    fn read(&self) -> RwLockReadGuard<'_, Secrets> {
        self.secrets.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds the key of a profile.
fn add(
    secrets: &mut Secrets,
    line: usize,
    (key, secret): (Option<String>, Option<String>),
) -> Result<(), CredentialsError> {
    match (key, secret) {
        (None, None) => Ok(()),
        (Some(key), Some(secret)) => {
            secrets.insert(key, secret);
            Ok(())
        }
        (Some(_), None) => {
            Err(CredentialsError { line, why: "the profile before has no aws_secret_access_key" })
        }
        (None, Some(_)) => {
            Err(CredentialsError { line, why: "the profile before has no aws_access_key_id" })
        }
    }
}

/// Shows keys only: secrets must not get into a log.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.read().keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_parsed_or_rejected_with_the_line() {
        let good = "# mine\n[default]\naws_access_key_id = A\naws_secret_access_key= s=1 \n\n\
                    [two]\nregion = x\naws_secret_access_key=t\naws_access_key_id=B\n";
        let credentials = Credentials::parse(good).unwrap();
        assert_eq!(
            ["A", "B"].map(|key| credentials.secret(key)),
            [Some("s=1".to_owned()), Some("t".to_owned())]
        );
        assert_eq!(credentials.secret("C"), None);
        assert_eq!(format!("{credentials:?}"), r#"{"A", "B"}"#);
        let used = credentials.clone();
        let other = "aws_access_key_id = C\naws_secret_access_key = u";
        credentials.replace(&Credentials::parse(other).unwrap());
        assert_eq!((used.secret("A"), used.secret("C")), (None, Some("u".to_owned())));
        let bad = [
            ("", 0, "the file has no keys"),
            ("[a]\nhello", 2, "it is neither `[profile]` nor `name = value`"),
            ("aws_access_key_id=", 1, "the key is empty"),
            ("aws_access_key_id=A\n[b]", 2, "the profile before has no aws_secret_access_key"),
            ("aws_secret_access_key=A", 1, "the profile before has no aws_access_key_id"),
        ];
        for (text, line, why) in bad {
            let expected = CredentialsError { line, why };
            assert_eq!(Credentials::parse(text).unwrap_err(), expected, "{text}");
        }
    }
}
