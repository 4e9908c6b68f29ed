//! JSON bodies: whatever its shape, a document takes a bounded multiple of its size in memory.
//!
//! Counts what the values allocate, with the capacity of lists: a list of one element has room for four.

use keyloom::{Item, Value, json_to_item};

/// As large as a body of a served model can be.
const BODY_BYTES: usize = 8 << 20;
/// A document of this many bytes has one value for every eight bytes, and fewer may be denser.
const DENSE_BYTES: usize = VALUES_MAX * 8;
const VALUES_MAX: usize = 320 * 1024;
const TIMES_MAX: usize = 17;
const DENSE_BYTES_MAX: usize = 42_000_000;

/// Elements of a list, and how many values each is.
const ELEMENTS: [(&str, usize); 11] = [
    ("0", 1),
    ("\"\"", 1),
    ("[]", 1),
    ("{}", 1),
    ("[0]", 2),
    ("{\"a\":0}", 2),
    ("[[0]]", 3),
    ("{\"a\":[0]}", 3),
    ("[0,0,0,0,0]", 6),
    // As deep as a document can be.
    ("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", 30),
    ("{\"a\":[{\"a\":[{\"a\":[0]}]}]}", 7),
];

/// A document with a list of as many of these elements as `values` allow, and the text of one more.
fn documents((element, each): (&str, usize), values: usize) -> [String; 2] {
    // The document and the list are values, too.
    let count = (values - 2) / each;
    [count, count + 1].map(|count| {
        let list = vec![element; count].join(",");
        format!("{{\"a\":[{list}]}}")
    })
}

fn padded(text: &str, bytes: usize) -> String {
    assert!(text.len() <= bytes);
    text.to_owned() + &" ".repeat(bytes - text.len())
}

fn taken_bytes(value: &Value) -> usize {
    match value {
        Value::S(text) => text.capacity(),
        Value::L(list) => {
            let inner: usize = list.iter().map(taken_bytes).sum();
            list.capacity() * size_of::<Value>() + inner
        }
        Value::M(item) => item_bytes(item),
        _ => 0,
    }
}

fn item_bytes(item: &Item) -> usize {
    // A name is a pointer and a length, to two counters and the text.
    let member = size_of::<(usize, usize, Value)>() + 2 * size_of::<usize>();
    let members = item.iter();
    let bytes = members
        .map(|(name, value)| member + name.as_str().len().next_multiple_of(8) + taken_bytes(value));
    bytes.sum()
}

#[test]
fn a_large_document_takes_at_most_seventeen_times_its_size() {
    for element in ELEMENTS {
        let [densest, denser] = documents(element, BODY_BYTES / 8).map(|text| {
            // Spaces make room for as many values as possible.
            padded(&text, BODY_BYTES)
        });
        let item = json_to_item(densest.as_bytes()).unwrap();
        let taken = item_bytes(&item);
        assert!(taken <= TIMES_MAX * BODY_BYTES, "{element:?}: {taken} bytes");
        assert!(json_to_item(denser.as_bytes()).is_err(), "{element:?}: one more is refused");
    }
}

#[test]
fn a_small_document_can_be_denser_and_takes_at_most_42_megabytes() {
    for element in ELEMENTS {
        let [densest, denser] = documents(element, VALUES_MAX);
        assert!(densest.len() < DENSE_BYTES, "{element:?}: it is denser");
        let item = json_to_item(densest.as_bytes()).unwrap();
        let taken = item_bytes(&item);
        assert!(taken <= DENSE_BYTES_MAX, "{element:?}: {taken} bytes");
        assert!(json_to_item(denser.as_bytes()).is_err(), "{element:?}: one more is refused");
    }
}

#[test]
fn texts_take_no_more_than_their_length() {
    for text in ["x".repeat(BODY_BYTES - 8), "\\n".repeat(BODY_BYTES / 2 - 8)] {
        let document = format!("{{\"a\":\"{text}\"}}");
        let taken = item_bytes(&json_to_item(document.as_bytes()).unwrap());
        assert!(taken <= 2 * document.len(), "{taken} of {}", document.len());
    }
}
