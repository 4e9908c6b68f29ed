//! Names and values that stand for placeholders, and which of them were used.

use keyloom_value::{Condition, KeyCondition, Name, Path, Projection, Update, Value};

use super::reserved::is_reserved;
use super::syntax::{self, RawPath, RawStep};
use super::{ExpressionError, condition, key_condition, projection, update};

/// Bytes that an expression may have.
const EXPRESSION_BYTES_MAX: usize = 4096;
/// Bytes that the values of a request may have.
const VALUES_BYTES_MAX: usize = 2 * 1024 * 1024;

/// What the placeholders of a request's expressions stand for. One is made for a request; its
/// expressions are parsed with it, and [`Substitutions::finish`] refuses what none of them used.
#[derive(Clone, Debug, Default)]
pub struct Substitutions {
    names: Vec<Placeholder<Name>>,
    values: Vec<Placeholder<Value>>,
}

#[derive(Clone, Debug)]
struct Placeholder<T> {
    /// With its `#` or `:`.
    placeholder: String,
    stands_for: T,
    is_used: bool,
}

impl Substitutions {
    /// Names by `#placeholder` and values by `:placeholder`.
    ///
    /// # Errors
    ///
    /// If a placeholder is not written like one, or the values are too large together.
    pub fn new(
        names: impl IntoIterator<Item = (String, String)>,
        values: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<Substitutions, ExpressionError> {
        let names: Vec<_> = names.into_iter().map(|(key, name)| unused(key, name.into())).collect();
        let values: Vec<_> = values.into_iter().map(|(key, value)| unused(key, value)).collect();
        check_keys("ExpressionAttributeNames", '#', &names)?;
        check_keys("ExpressionAttributeValues", ':', &values)?;
        let bytes: usize = values.iter().map(|value| value.stands_for.size()).sum();
        if bytes > VALUES_BYTES_MAX {
            return Err(ExpressionError::new(format!(
                "ExpressionAttributeValues exceeds the maximum size of {VALUES_BYTES_MAX} bytes"
            )));
        }
        Ok(Substitutions { names, values })
    }

    /// Parses a condition; `parameter` is the name that an error says.
    pub fn condition(&mut self, parameter: &str, text: &str) -> Result<Condition, ExpressionError> {
        self.parse(parameter, text, |text, substitutions| {
            condition::resolve(&syntax::condition(text)?, substitutions)
        })
    }

    /// Parses a key condition.
    pub fn key_condition(&mut self, text: &str) -> Result<KeyCondition, ExpressionError> {
        let condition = self.condition("KeyConditionExpression", text)?;
        key_condition::from_condition(&condition)
    }

    /// Parses an update.
    pub fn update(&mut self, text: &str) -> Result<Update, ExpressionError> {
        self.parse("UpdateExpression", text, |text, substitutions| {
            update::resolve(&syntax::update(text)?, substitutions)
        })
    }

    /// Parses a projection.
    pub fn projection(&mut self, text: &str) -> Result<Projection, ExpressionError> {
        self.parse("ProjectionExpression", text, |text, substitutions| {
            projection::resolve(&syntax::projection(text)?, substitutions)
        })
    }

    /// Ends the request's expressions.
    ///
    /// # Errors
    ///
    /// If a name or value was given that no expression used.
    pub fn finish(self) -> Result<(), ExpressionError> {
        check_used("ExpressionAttributeNames", &self.names)?;
        check_used("ExpressionAttributeValues", &self.values)
    }

    fn parse<T>(
        &mut self,
        parameter: &str,
        text: &str,
        parse: impl FnOnce(&str, &mut Substitutions) -> Result<T, ExpressionError>,
    ) -> Result<T, ExpressionError> {
        let parsed = if text.trim().is_empty() {
            Err(ExpressionError::new("The expression can not be empty;"))
        } else if text.len() > EXPRESSION_BYTES_MAX {
            Err(ExpressionError::new(format!(
                "Expression size has exceeded the maximum allowed size; expression size: {}",
                text.len()
            )))
        } else {
            parse(text, self)
        };
        parsed.map_err(|error| error.in_parameter(parameter))
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

    /// The value of a placeholder. It is cloned, because an expression may use it twice.
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

/// Refuses words that must be given by a placeholder.
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

fn unused<T>(placeholder: String, stands_for: T) -> Placeholder<T> {
    Placeholder { placeholder, stands_for, is_used: false }
}

fn find<'a, T>(places: &'a mut [Placeholder<T>], placeholder: &str) -> Option<&'a T> {
    let found = places.iter_mut().find(|place| place.placeholder == placeholder)?;
    found.is_used = true;
    Some(&found.stands_for)
}

fn check_keys<T>(
    parameter: &str,
    mark: char,
    places: &[Placeholder<T>],
) -> Result<(), ExpressionError> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_key = |text: &str| {
        text.strip_prefix(mark).is_some_and(|word| !word.is_empty() && word.chars().all(is_word))
    };
    match places.iter().find(|place| !is_key(&place.placeholder)) {
        Some(place) => Err(ExpressionError::new(format!(
            "{parameter} contains invalid key: Syntax error; key: \"{}\"",
            place.placeholder
        ))),
        None => Ok(()),
    }
}

fn check_used<T>(parameter: &str, places: &[Placeholder<T>]) -> Result<(), ExpressionError> {
    let unused: Vec<&str> = places
        .iter()
        .filter(|place| !place.is_used)
        .map(|place| place.placeholder.as_str())
        .collect();
    if unused.is_empty() {
        return Ok(());
    }
    Err(ExpressionError::new(format!(
        "Value provided in {parameter} unused in expressions: keys: {{{}}}",
        unused.join(", ")
    )))
}
