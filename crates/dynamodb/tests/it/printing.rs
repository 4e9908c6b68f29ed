//! Printed expressions parse to the original and use every placeholder.

use keyloom_dynamodb::{ExpressionError, Printer, Substitutions};
use keyloom_testkit::cases;
use proptest::prelude::*;

use crate::generators;

fn parsed<T>(
    printer: Printer,
    parse: impl FnOnce(&mut Substitutions) -> Result<T, ExpressionError>,
) -> T {
    let mut substitutions = Substitutions::new(printer.names, printer.values).unwrap();
    let parsed = parse(&mut substitutions).unwrap();
    substitutions.finish().unwrap();
    parsed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1000)))]

    #[test]
    fn a_condition_round_trips(condition in generators::condition()) {
        let mut printer = Printer::new();
        let text = printer.condition(&condition);
        prop_assume!(text.len() <= 4096);
        prop_assert_eq!(parsed(printer, |s| s.condition("FilterExpression", &text)), condition);
    }

    #[test]
    fn a_key_condition_round_trips(key in generators::key_condition()) {
        let mut printer = Printer::new();
        let text = printer.key_condition(&key);
        prop_assert_eq!(parsed(printer, |s| s.key_condition(&text)), key);
    }

    #[test]
    fn an_update_round_trips(update in generators::update()) {
        let mut printer = Printer::new();
        let text = printer.update(&update);
        prop_assert_eq!(parsed(printer, |s| s.update(&text)), update);
    }

    #[test]
    fn a_projection_round_trips(projection in generators::projection()) {
        let mut printer = Printer::new();
        let text = printer.projection(&projection);
        prop_assert_eq!(parsed(printer, |s| s.projection(&text)), projection);
    }
}
