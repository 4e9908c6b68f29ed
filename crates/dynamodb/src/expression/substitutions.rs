//! The names and values that placeholders stand for, and which of them are used.

use keyloom_value::{Name, Path, Value};

use super::ExpressionError;
use super::reserved::is_reserved;
use super::syntax::{RawPath, RawStep};

/// The largest total size of the values of a request.
const VALUES_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The placeholders of one request. Parse all its expressions with it, then call
/// [`Substitutions::finish`], which rejects unused placeholders.
#[derive(Clone, Debug, Default)]
pub struct Substitutions {
    names: Vec<Placeholder<Name>>,
    values: Vec<Placeholder<Value>>,
}

#[derive(Clone, Debug)]
struct Placeholder<T> {
    /// Including its `#` or `:`.
    placeholder: String,
    replacement: T,
    is_used: bool,
}

impl Substitutions {
    /// Takes names by `#placeholder` and values by `:placeholder`.
    ///
    /// # Errors
    ///
    /// If a placeholder is malformed, or the values together are too large.
    pub fn new(
        names: impl IntoIterator<Item = (String, String)>,
        values: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<Substitutions, ExpressionError> {
        let names: Vec<_> = names.into_iter().map(|(key, name)| unused(key, name.into())).collect();
        let values: Vec<_> = values.into_iter().map(|(key, value)| unused(key, value)).collect();
        check_keys("ExpressionAttributeNames", '#', &names)?;
        check_keys("ExpressionAttributeValues", ':', &values)?;
        let bytes: usize = values.iter().map(|value| value.replacement.size()).sum();
        if bytes > VALUES_BYTES_MAX {
            return Err(ExpressionError::new(format!(
                "ExpressionAttributeValues exceeds the maximum size of {VALUES_BYTES_MAX} bytes"
            )));
        }
        Ok(Substitutions { names, values })
    }

    /// Checks that every placeholder was used.
    ///
    /// # Errors
    ///
    /// If no expression used a name or value.
    pub fn finish(self) -> Result<(), ExpressionError> {
        check_used("ExpressionAttributeNames", &self.names)?;
        check_used("ExpressionAttributeValues", &self.values)
    }

    pub(super) fn path(&mut self, raw: &RawPath<'_>) -> Result<Path, ExpressionError> {
        let mut path = Path::new(self.name(raw.root)?);
        for step in &raw.steps {
            path = match step {
                RawStep::Member(name) => path.member(self.name(name)?),
                RawStep::Element(index) => path.element(*index),
            };
        }
        Ok(path)
    }

    /// Returns the value of a placeholder, cloned because expressions may use it repeatedly.
    pub(super) fn value(&mut self, placeholder: &str) -> Result<Value, ExpressionError> {
        let found = find(&mut self.values, placeholder).ok_or_else(|| {
            ExpressionError::new(format!(
                "An expression attribute value used in expression is not defined; attribute \
                 value: {placeholder}"
            ))
        })?;
        Ok(found.clone())
    }

    fn name(&mut self, name: &str) -> Result<Name, ExpressionError> {
        if !name.starts_with('#') {
            return Ok(Name::from(name));
        }
        let found = find(&mut self.names, name).ok_or_else(|| {
            ExpressionError::new(format!(
                "An expression attribute name used in the document path is not defined; attribute \
                 name: {name}"
            ))
        })?;
        Ok(found.clone())
    }
}

/// Rejects reserved words, which need a placeholder.
pub(super) fn check_reserved(path: &RawPath<'_>) -> Result<(), ExpressionError> {
    let members = path.steps.iter().filter_map(|step| match step {
        RawStep::Member(name) => Some(*name),
        RawStep::Element(_) => None,
    });
    match std::iter::once(path.root).chain(members).find(|name| is_reserved(name)) {
        Some(word) => Err(ExpressionError::new(format!(
            "Attribute name is a reserved keyword; reserved keyword: {word}"
        ))),
        None => Ok(()),
    }
}

fn unused<T>(placeholder: String, replacement: T) -> Placeholder<T> {
    Placeholder { placeholder, replacement, is_used: false }
}

fn find<'a, T>(placeholders: &'a mut [Placeholder<T>], placeholder: &str) -> Option<&'a T> {
    let found = placeholders.iter_mut().find(|entry| entry.placeholder == placeholder)?;
    found.is_used = true;
    Some(&found.replacement)
}

fn check_keys<T>(
    parameter: &str,
    sigil: char,
    placeholders: &[Placeholder<T>],
) -> Result<(), ExpressionError> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_key = |text: &str| {
        text.strip_prefix(sigil).is_some_and(|word| !word.is_empty() && word.chars().all(is_word))
    };
    match placeholders.iter().find(|entry| !is_key(&entry.placeholder)) {
        Some(entry) => Err(ExpressionError::new(format!(
            "{parameter} contains invalid key: Syntax error; key: \"{}\"",
            entry.placeholder
        ))),
        None => Ok(()),
    }
}

fn check_used<T>(parameter: &str, placeholders: &[Placeholder<T>]) -> Result<(), ExpressionError> {
    let unused: Vec<&str> = placeholders
        .iter()
        .filter(|entry| !entry.is_used)
        .map(|entry| entry.placeholder.as_str())
        .collect();
    if unused.is_empty() {
        return Ok(());
    }
    Err(ExpressionError::new(format!(
        "Value provided in {parameter} unused in expressions: keys: {{{}}}",
        unused.join(", ")
    )))
}
