//! The path and query of a request. Values cannot leave their place: everything but unreserved
//! characters is percent-encoded, and segments that a URL would resolve are refused.

use std::fmt;

use crate::limits::TARGET_BYTES_MAX;
use crate::tool_error::ToolError;

/// A path and a query, encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    text: String,
    has_query: bool,
}

impl Target {
    /// A path of the server itself.
    pub(crate) fn fixed(path: &'static str) -> Target {
        Target { text: path.to_owned(), has_query: false }
    }

    /// A path with the values of its parameters, as in `/tasks/{id}`.
    pub(crate) fn at(
        path: &str,
        mut value: impl FnMut(&str) -> Result<String, ToolError>,
    ) -> Result<Target, ToolError> {
        let mut text = String::new();
        for segment in path.split('/').skip(1) {
            text.push('/');
            match segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                None => text.push_str(segment),
                Some(name) => {
                    let value = value(name)?;
                    if ["", ".", ".."].contains(&value.as_str()) {
                        let message = format!("`{name}` must not be empty, `.` or `..`.");
                        return Err(ToolError::argument(message));
                    }
                    text.push_str(&encode(&value));
                }
            }
        }
        Target { text, has_query: false }.checked()
    }

    /// Adds a query parameter.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Result<Target, ToolError> {
        let sign = if self.has_query { '&' } else { '?' };
        self.text.push_str(&format!("{sign}{}={}", encode(name), encode(value)));
        self.has_query = true;
        self.checked()
    }

    fn checked(self) -> Result<Target, ToolError> {
        match self.text.len() <= TARGET_BYTES_MAX {
            true => Ok(self),
            false => Err(ToolError::argument("The parameters are too long.")
                .with_hint(format!("They may have {TARGET_BYTES_MAX} bytes in all."))),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str, value: &str) -> Result<String, ToolError> {
        Target::at(path, |_| Ok(value.to_owned())).map(|target| target.to_string())
    }

    #[test]
    fn a_value_stays_in_its_segment() {
        for (value, expected) in [
            ("7", "/tasks/7/x"),
            ("../tokens", "/tasks/..%2Ftokens/x"),
            ("a?b=c#d", "/tasks/a%3Fb%3Dc%23d/x"),
            ("%2e%2e", "/tasks/%252e%252e/x"),
            ("…\r\n", "/tasks/%E2%80%A6%0D%0A/x"),
        ] {
            assert_eq!(at("/tasks/{id}/x", value).unwrap(), expected, "{value}");
        }
        for value in ["", ".", ".."] {
            assert!(at("/tasks/{id}", value).is_err(), "{value}");
        }
        assert!(at("/tasks/{id}", &"x".repeat(TARGET_BYTES_MAX)).is_err());
    }

    #[test]
    fn query_parameters_are_encoded() {
        let target = Target::fixed("/tasks").with("tag", "a:b&c").unwrap();
        let target = target.with("$limit", "2").unwrap();
        assert_eq!(target.to_string(), "/tasks?tag=a%3Ab%26c&%24limit=2");
    }
}
