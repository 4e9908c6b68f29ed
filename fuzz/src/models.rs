//! Model files and times.

use keyloom_model::{FieldType, Layout, check, evolve, render};
use keyloom_value::{Item, Value};

/// Every text is a model or has errors with positions. A model evolves to itself without changes and
/// has a layout.
pub fn model(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match check(text) {
        Err(errors) => {
            assert!(!errors.is_empty(), "it is refused without a reason");
            render(&errors, "model.toml");
        }
        Ok(model) => {
            let evolution = evolve(&model, &model).expect("a model can become itself");
            assert!(evolution.is_empty(), "a model differs from itself");
            let layout = Layout::new(model.clone(), 1, &Item::new());
            let again = Layout::reopen(model, 1, &layout.slots());
            assert_eq!(again.slots(), layout.slots());
        }
    }
}

/// An accepted time is formatted as a text that parses to the same time.
pub fn times(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let taken = FieldType::Time.to_stored(&Value::from(text));
    if let Value::N(_) = taken {
        let shown = FieldType::Time.to_external(&taken);
        assert!(matches!(shown, Value::S(_)), "{shown:?}");
        assert_eq!(FieldType::Time.to_stored(&shown), taken, "{shown:?}");
    }
}
