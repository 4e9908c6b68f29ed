//! Numbers and key bytes: round trips, and a common order.

use keyloom_value::{KeyBytes, Number, Value};

/// A number round-trips through text, its parts and a key; the keys of two numbers sort like the
/// numbers.
pub fn numbers(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (left, right) = text.split_once(' ').unwrap_or((text, "0"));
    let (Ok(left), Ok(right)) = (left.parse::<Number>(), right.parse::<Number>()) else { return };
    for number in [&left, &right] {
        assert_eq!(number.to_string().parse::<Number>().as_ref(), Ok(number));
        let (coefficient, exponent) = number.parts();
        assert_eq!(Number::from_parts(coefficient, exponent).as_ref(), Ok(number));
    }
    let key = |number: &Number| {
        let mut key = KeyBytes::new();
        key.push(&Value::N(number.clone())).expect("a number fits into a key");
        key
    };
    assert_eq!(left.cmp(&right), key(&left).as_bytes().cmp(key(&right).as_bytes()));
    assert_eq!(
        KeyBytes::decode(key(&left).as_bytes()).as_deref(),
        Ok(&[Value::N(left.clone())][..])
    );
    if let (Ok(sum), Ok(swapped)) = (left.checked_add(&right), right.checked_add(&left)) {
        assert_eq!(sum, swapped);
    }
}

/// Decoded key bytes encode to the same bytes, part by part.
pub fn key_bytes(input: &[u8]) {
    if let Ok(parts) = KeyBytes::decode(input) {
        let mut again = KeyBytes::new();
        for part in &parts {
            again.push(part).expect("a decoded part can be encoded");
        }
        assert_eq!(again.as_bytes(), input, "{parts:?}");
    }
    if let Ok((_, rest)) = KeyBytes::decode_part(input) {
        assert_eq!(KeyBytes::skip_part(input), Ok(rest));
    }
    let _ = KeyBytes::skip_descending(input);
    if let Some(after) = KeyBytes::after_prefix(input) {
        assert!(after.as_slice() > input && !after.starts_with(input));
    }
    assert!(KeyBytes::before(input) <= input);
}
