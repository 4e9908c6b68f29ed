//! The four expression languages: parse(print(parse(x))) == parse(x).

use keyloom_dynamodb::{Printer, Substitutions};
use keyloom_value::{Number, Value};

use crate::choice::chosen;

fn substitutions() -> Substitutions {
    let names = [("#a", "a"), ("#b", "b.c"), ("#c", "size")];
    let values = [
        (":s", Value::from("text")),
        (":n", Value::N(Number::from(1_i64))),
        (":b", Value::B(vec![0, 255])),
        (":l", Value::L(vec![Value::Null])),
    ];
    let names = names.map(|(key, name)| (key.to_owned(), name.to_owned()));
    let values = values.map(|(key, value)| (key.to_owned(), value));
    Substitutions::new(names, values).expect("these are placeholders")
}

/// An accepted expression prints to one that parses to the same value.
pub fn expressions(input: &[u8]) {
    let Some((choice, text)) = chosen(input) else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let (mut given, mut printer) = (substitutions(), Printer::new());
    macro_rules! law {
        ($parse:expr, $print:expr) => {
            if let Ok(parsed) = $parse(&mut given, text) {
                let printed = $print(&mut printer, &parsed);
                let names = printer.names.clone();
                let again = Substitutions::new(names, printer.values.clone());
                let mut again = again.expect("printed placeholders are valid");
                // It may exceed the length limit, with placeholders for all names and values.
                if printed.len() <= 4096 {
                    let again = $parse(&mut again, &printed);
                    assert_eq!(again.as_ref(), Ok(&parsed), "{printed}");
                }
            }
        };
    }
    match choice % 4 {
        0 => law!(
            |given: &mut Substitutions, text: &str| given.condition("FilterExpression", text),
            |printer: &mut Printer, parsed: &_| printer.condition(parsed)
        ),
        1 => law!(
            |given: &mut Substitutions, text: &str| given.key_condition(text),
            |printer: &mut Printer, parsed: &_| printer.key_condition(parsed)
        ),
        2 => law!(
            |given: &mut Substitutions, text: &str| given.update(text),
            |printer: &mut Printer, parsed: &_| printer.update(parsed)
        ),
        _ => law!(
            |given: &mut Substitutions, text: &str| given.projection(text),
            |printer: &mut Printer, parsed: &_| printer.projection(parsed)
        ),
    }
}
