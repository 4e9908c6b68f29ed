//! Where a verification stopped, as a text: the key of the last row, and how many came before.

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_value::{Item, Value};

pub(crate) fn write(key: &Item, rows: u64) -> String {
    let hex = |name| {
        let bytes = key.get(name).and_then(Value::as_b).unwrap_or_default();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    format!("{rows}.{}.{}", hex(PARTITION), hex(SORT))
}

pub(crate) fn read(text: &str) -> Option<(Item, u64)> {
    let mut parts = text.split('.');
    let rows = parts.next()?.parse().ok()?;
    let (partition, sort) = (bytes(parts.next()?)?, bytes(parts.next()?)?);
    let key = Item::from([(PARTITION, Value::B(partition)), (SORT, Value::B(sort))]);
    parts.next().is_none().then_some((key, rows))
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        hex.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0 && !digits.is_empty())?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
