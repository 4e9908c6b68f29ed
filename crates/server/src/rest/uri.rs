//! Decoding paths and queries of requests.

use super::problem::{Kind, Problem};

/// Decodes the segments of a path one by one, so that an id can contain a slash.
///
/// # Errors
///
/// If an escape is malformed, or a decoded segment is not UTF-8.
pub(super) fn segments(path: &str) -> Result<Vec<String>, Problem> {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split('/').map(|segment| decode(segment, "The path", Plus::IsPlus)).collect()
}

/// Decodes the parameters of a query, in order.
///
/// # Errors
///
/// As [`segments`].
pub(super) fn parameters(query: &str) -> Result<Vec<(String, String)>, Problem> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let parameter = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decode = |text| decode(text, "The query", Plus::IsSpace);
        Ok((decode(name)?, decode(value)?))
    };
    pairs.map(parameter).collect()
}

/// Encodes a text as a segment of a path.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// What `+` means: a space in queries, itself in paths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plus {
    IsPlus,
    IsSpace,
}

fn decode(text: &str, part: &str, plus: Plus) -> Result<String, Problem> {
    let refuse = |what: &str| Problem::new(Kind::BadUri, format!("{part} has {what}."));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
                let (high, low) = (digit(), digit());
                let (Some(high), Some(low)) = (high, low) else {
                    return Err(refuse(
                        "an invalid escape: `%` must be followed by two hexadecimal digits",
                    ));
                };
                u8::try_from(high * 16 + low).unwrap_or_default()
            }
            b'+' if plus == Plus::IsSpace => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes)
        .map_err(|_| refuse("escapes that are not UTF-8: encode the text in UTF-8 before escaping"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_text_decodes_to_itself() {
        for text in ["", "a/b", "1+1=2", "ä € 😀", "%41", "a b", "..", "\u{0}", "&x=y#z?"] {
            assert_eq!(segments(&format!("/{}", encode(text))).unwrap(), [text]);
        }
    }

    #[test]
    fn malformed_escapes_are_rejected() {
        for path in ["/%", "/%4", "/%zz", "/%ff", "/a%c3"] {
            let problem = segments(path).unwrap_err();
            assert_eq!(problem.kind(), Kind::BadUri, "{path}");
        }
    }

    #[test]
    fn parameters_are_decoded_as_forms_encode_them() {
        let pairs = parameters("a=1&a=x+y&b&=c&&d=%2B=").unwrap();
        let pairs: Vec<_> = pairs.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(pairs, [("a", "1"), ("a", "x y"), ("b", ""), ("", "c"), ("d", "+=")]);
    }
}
