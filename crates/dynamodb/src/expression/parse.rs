//! Entry points: parse the text of an expression.

use keyloom_value::{Condition, KeyCondition, Projection, Update};

use super::{ExpressionError, Substitutions, condition, key_condition, projection, syntax, update};

/// The longest expression, in bytes.
const EXPRESSION_BYTES_MAX: usize = 4096;

impl Substitutions {
    /// Parses a condition; errors name `parameter`.
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
}
