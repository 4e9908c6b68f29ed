//! Bytes as text, in the alphabet and with the padding of RFC 4648.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes as text.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let symbol = ALPHABET[(group >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { char::from(symbol) } else { '=' });
        }
    }
    text
}

/// The bytes of a text, if it is written exactly as [`encode`] writes.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    if padding > 2 {
        return None;
    }
    let digits = text.as_bytes().get(..text.len() - padding)?;
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in digits.chunks(4) {
        let mut group = 0_u32;
        for digit in chunk {
            group = group << 6 | value(*digit)?;
        }
        group <<= 6 * (4 - chunk.len());
        let [_, first, second, third] = group.to_be_bytes();
        let kept = chunk.len().checked_sub(1)?;
        bytes.extend([first, second, third].iter().take(kept));
        if [first, second, third].iter().skip(kept).any(|byte| *byte != 0) {
            return None;
        }
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}
