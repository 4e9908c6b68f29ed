//! Ranges: `1..5` limits the value of a number, or the length of a text, bytes, list or map.

use std::str::FromStr;

use keyloom_value::Number;

use crate::declared::DeclaredRange;
use crate::error::{Code, Report, Reporter};
use crate::model::{FieldType, Limits};
use crate::source::Word;

/// Returns the type with its range, if the type takes one.
pub(crate) fn bounded(
    of: FieldType,
    range: Option<&DeclaredRange>,
    reporter: &mut Reporter<'_>,
) -> Option<FieldType> {
    let Some(range) = range else { return Some(of) };
    let length = "a length, such as 80";
    Some(match of {
        FieldType::Text(_) => FieldType::Text(limits(range, length, reporter)?),
        FieldType::Bytes(_) => FieldType::Bytes(limits(range, length, reporter)?),
        FieldType::List(of, _) => FieldType::List(of, limits(range, length, reporter)?),
        FieldType::Map(of, _) => FieldType::Map(of, limits(range, length, reporter)?),
        FieldType::Int(_) => FieldType::Int(limits(range, "a whole number", reporter)?),
        FieldType::Number(_) => {
            FieldType::Number(limits::<Number>(range, "a number of up to 38 digits", reporter)?)
        }
        FieldType::Bool
        | FieldType::Time
        | FieldType::Any
        | FieldType::Tags
        | FieldType::Enum(_)
        | FieldType::Ref(..) => {
            let reason = format!("a field of type `{}` cannot have a range", of.name());
            let help =
                "int and number take a range of values; text, bytes, list and map one of lengths";
            reporter.push(Report::new(Code::NoRange, range.span, reason).help(help));
            return None;
        }
    })
}

/// Parses both bounds, which must be `what` and in order.
fn limits<T: FromStr + PartialOrd>(
    range: &DeclaredRange,
    what: &str,
    reporter: &mut Reporter<'_>,
) -> Option<Limits<T>> {
    let mut bound = |word: &Option<Word>| match word {
        None => Some(None),
        Some(word) => match word.text.parse() {
            Ok(bound) => Some(Some(bound)),
            Err(_) => {
                let reason = format!("`{}` cannot be a bound: it must be {what}", word.text);
                reporter.report(Code::BadRange, word.span, reason);
                None
            }
        },
    };
    let (low, high) = (bound(&range.low), bound(&range.high));
    let limits: Limits<T> = Limits { low: low?, high: high? };
    let reason = match (&limits.low, &limits.high) {
        (None, None) => "the range has no bounds",
        (Some(low), Some(high)) if low > high => "no value is in this range",
        _ => return Some(limits),
    };
    let help = "write the lower and the upper bound, as in `1..5`, `1..` or `..5`";
    reporter.push(Report::new(Code::BadRange, range.span, reason).help(help));
    None
}
