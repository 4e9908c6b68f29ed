//! Numbers in the requested type, exactly or not at all.

use keyloom_value::Number;
use serde::de::Visitor;

use super::super::error::{DocumentError, Fault};

/// Visits an integer; the visitor checks its range.
pub(super) fn visit_whole<'de, V: Visitor<'de>>(
    number: &Number,
    visitor: V,
) -> Result<V::Value, DocumentError> {
    if let Some(integer) = number.to_i64() {
        return visitor.visit_i64(integer);
    }
    let text = number.to_string();
    if let Ok(integer) = text.parse() {
        return visitor.visit_u64(integer);
    }
    if let Ok(integer) = text.parse() {
        return visitor.visit_i128(integer);
    }
    match text.parse() {
        Ok(integer) => visitor.visit_u128(integer),
        Err(_) => Err(inexact(number, "an integer type")),
    }
}

/// Visits an `f64`.
pub(super) fn visit_f64<'de, V: Visitor<'de>>(
    number: &Number,
    visitor: V,
) -> Result<V::Value, DocumentError> {
    match f64_of(number) {
        Some(float) => visitor.visit_f64(float),
        None => Err(inexact(number, "f64")),
    }
}

/// Visits an `f32`.
pub(super) fn visit_f32<'de, V: Visitor<'de>>(
    number: &Number,
    visitor: V,
) -> Result<V::Value, DocumentError> {
    let float = number.to_string().parse::<f32>().ok();
    let is_same = |float: &f32| format!("{float:e}").parse() == Ok(*number);
    match float.filter(|float| float.is_finite() && is_same(float)) {
        Some(float) => visitor.visit_f32(float),
        None => Err(inexact(number, "f32")),
    }
}

/// Visits an integer or a float, whichever it is.
pub(super) fn visit_any<'de, V: Visitor<'de>>(
    number: &Number,
    visitor: V,
) -> Result<V::Value, DocumentError> {
    if let Some(integer) = number.to_i64() {
        return visitor.visit_i64(integer);
    }
    if let Ok(integer) = number.to_string().parse() {
        return visitor.visit_u64(integer);
    }
    match f64_of(number) {
        Some(float) => visitor.visit_f64(float),
        None => Err(inexact(number, "u64 or f64")),
    }
}

/// Returns the float whose shortest decimal is the number.
fn f64_of(number: &Number) -> Option<f64> {
    let float: f64 = number.to_string().parse().ok()?;
    let is_same = float.is_finite() && format!("{float:e}").parse() == Ok(*number);
    is_same.then_some(float)
}

fn inexact(number: &Number, asked: &'static str) -> DocumentError {
    DocumentError::new(Fault::Inexact { number: number.to_string(), asked })
}
