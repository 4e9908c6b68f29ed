//! Changes of requests: of their structure, types, names, numbers, strings and expressions while they
//! are JSON, and of their bytes afterwards.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::stage::Seed;

/// A repeated text is at most about this long: longer than an item, shorter than a request may be.
const TEXT_MAX: usize = 500_000;

/// One change. The numbers choose where and what, among what the request has.
#[derive(Clone, Debug)]
pub(super) struct Mutation {
    kind: Kind,
    at: usize,
    what: usize,
    more: usize,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Another value of any type.
    Replace,
    /// A value of a valid request, of any operation.
    Graft,
    Remove,
    /// Another name, of a parameter or not, for a member.
    Rename,
    /// A member or an element more.
    Add,
    /// The value within lists or maps.
    Nest,
    Number,
    Text,
    /// Words of an expression or a statement.
    Words,
    Bytes,
}

const KINDS: [Kind; 13] = [
    Kind::Replace,
    Kind::Replace,
    Kind::Graft,
    Kind::Remove,
    Kind::Rename,
    Kind::Add,
    Kind::Nest,
    Kind::Number,
    Kind::Text,
    Kind::Words,
    Kind::Words,
    Kind::Words,
    Kind::Bytes,
];

pub(super) fn mutation() -> impl Strategy<Value = Mutation> {
    let number = || 0_usize..1 << 20;
    (select(KINDS.to_vec()), number(), number(), number())
        .prop_map(|(kind, at, what, more)| Mutation { kind, at, what, more })
}

/// What requests consist of: material for changes.
pub(super) struct Material {
    /// Values that are often wrong, whatever their place.
    odd: Vec<Value>,
    texts: Vec<String>,
    values: Vec<Value>,
    names: Vec<String>,
}

impl Material {
    pub(super) fn of(seeds: &[Seed]) -> Material {
        let (odd, texts) = (odd_values(), odd_texts());
        let mut material = Material { values: odd.clone(), names: texts.clone(), odd, texts };
        for seed in seeds {
            let body: Value = serde_json::from_str(&seed.body).unwrap();
            material.collect(&body);
        }
        material.names.sort();
        material.names.dedup();
        material
    }

    fn collect(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                self.names.extend(members.keys().cloned());
                members.values().for_each(|member| self.collect(member));
            }
            Value::Array(elements) => elements.iter().for_each(|element| self.collect(element)),
            _ => {}
        }
        self.values.push(value.clone());
    }

    /// Returns the bytes of a request after changes.
    pub(super) fn mutated(&self, body: &str, mutations: &[Mutation]) -> Vec<u8> {
        let mut body: Value = serde_json::from_str(body).unwrap();
        let mut at_bytes = Vec::new();
        for mutation in mutations {
            match mutation.kind {
                Kind::Bytes => at_bytes.push(mutation),
                _ => self.apply(mutation, &mut body),
            }
        }
        let mut bytes = serde_json::to_vec(&body).unwrap();
        at_bytes.into_iter().for_each(|mutation| mutate_bytes(&mut bytes, mutation));
        bytes
    }

    fn apply(&self, mutation: &Mutation, body: &mut Value) {
        let Mutation { kind, at, what, more } = *mutation;
        let name = || self.names[what % self.names.len()].clone();
        let all = |_: &str, _: &Value| true;
        match kind {
            Kind::Replace => *chosen(body, at, all) = self.odd[what % self.odd.len()].clone(),
            Kind::Graft => *chosen(body, at, all) = self.values[what % self.values.len()].clone(),
            Kind::Remove => remove(chosen(body, at, is_container), what),
            Kind::Rename => rename(chosen(body, at, is_container), more, name()),
            Kind::Add => {
                let value = self.values[more % self.values.len()].clone();
                add(chosen(body, at, is_container), name(), value);
            }
            Kind::Nest => nest(chosen(body, at, all), what, 1 + more % 40),
            Kind::Number => mutate_number(chosen(body, at, is_number), what),
            Kind::Text => {
                let piece = &self.texts[more % self.texts.len()];
                mutate_text(chosen(body, at, is_text), piece, what, more);
            }
            Kind::Words => mutate_words(chosen(body, at, is_expression), what, more),
            Kind::Bytes => unreachable!("changed after the request is written"),
        }
    }
}

fn is_container(_: &str, value: &Value) -> bool {
    value.is_object() || value.is_array()
}

fn is_text(_: &str, value: &Value) -> bool {
    value.is_string()
}

fn is_number(name: &str, value: &Value) -> bool {
    value.is_number() || (name == "N" && value.is_string())
}

fn is_expression(name: &str, value: &Value) -> bool {
    (name.ends_with("Expression") || name == "Statement") && value.is_string()
}

/// Returns a value of the body, of those that are wanted, if there are any.
fn chosen(body: &mut Value, at: usize, wanted: impl Fn(&str, &Value) -> bool) -> &mut Value {
    let mut places = Vec::new();
    find(body, &mut String::new(), "", &mut |place, name, value| {
        if wanted(name, value) {
            places.push(place.to_owned());
        }
    });
    let place =
        if places.is_empty() { String::new() } else { places.swap_remove(at % places.len()) };
    body.pointer_mut(&place).unwrap()
}

fn find(value: &Value, place: &mut String, name: &str, found: &mut dyn FnMut(&str, &str, &Value)) {
    found(place, name, value);
    let length = place.len();
    let mut within = |step: &str, name: &str, value: &Value| {
        place.push('/');
        place.push_str(&step.replace('~', "~0").replace('/', "~1"));
        find(value, place, name, found);
        place.truncate(length);
    };
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| within(name, name, value));
        }
        Value::Array(elements) => {
            let elements = elements.iter().enumerate();
            elements.for_each(|(index, value)| within(&index.to_string(), "", value));
        }
        _ => {}
    }
}

fn remove(container: &mut Value, what: usize) {
    match container {
        Value::Object(members) if !members.is_empty() => {
            let name = members.keys().nth(what % members.len()).unwrap().clone();
            members.remove(&name);
        }
        Value::Array(elements) if !elements.is_empty() => {
            elements.remove(what % elements.len());
        }
        _ => {}
    }
}

fn rename(container: &mut Value, which: usize, name: String) {
    let Value::Object(members) = container else { return };
    let old = members.keys().nth(which % members.len().max(1)).cloned();
    if let Some(value) = old.and_then(|old| members.remove(&old)) {
        members.insert(name, value);
    }
}

fn add(container: &mut Value, name: String, value: Value) {
    match container {
        Value::Object(members) => {
            members.insert(name, value);
        }
        Value::Array(elements) => elements.push(value),
        _ => {}
    }
}

fn nest(value: &mut Value, what: usize, levels: usize) {
    for _ in 0..levels {
        let inner = value.take();
        *value = match what % 4 {
            0 => json!([inner]),
            1 => json!({ "M": { "a": inner } }),
            2 => json!({ "L": [inner] }),
            _ => json!({ "a": inner }),
        };
    }
}

fn mutate_number(value: &mut Value, what: usize) {
    const NUMBERS: [&str; 20] = [
        "0",
        "-0",
        "1",
        "-1",
        "1.5",
        "-0.5",
        "100",
        "101",
        "1e125",
        "1e126",
        "-1e-130",
        "1e-131",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
        "1e400",
        "99999999999999999999999999999999999999",
        "1234567890123456789012345678901234567890",
        "0.00000000000000000000000000000000000000000000000001",
        "1794768510.104",
    ];
    let number = NUMBERS[what % NUMBERS.len()];
    *value = match value {
        Value::Number(_) => {
            number.parse::<f64>().ok().map_or(Value::Null, |float| match number.parse::<i64>() {
                Ok(integer) => json!(integer),
                Err(_) => json!(float),
            })
        }
        Value::String(_) => json!(number),
        _ => json!({ "N": number }),
    };
}

fn mutate_text(value: &mut Value, piece: &str, what: usize, more: usize) {
    let Value::String(text) = value else { return };
    let mut chars: Vec<char> = text.chars().collect();
    let start = more % (chars.len() + 1);
    let end = (start + what / 8 % 9).min(chars.len());
    match what % 8 {
        0 | 1 => chars = piece.chars().collect(),
        2 => drop(chars.splice(start..end, piece.chars())),
        3 => drop(chars.drain(start..end)),
        4 => chars.truncate(start),
        5 => chars = chars.repeat((1 + more % 300).min(1 + TEXT_MAX / (chars.len() + 1))),
        6 => chars.reverse(),
        _ => drop(chars.splice(start..start, chars.clone())),
    }
    *text = chars.into_iter().collect();
}

/// Changes the order, number or kind of the words of an expression.
fn mutate_words(value: &mut Value, what: usize, more: usize) {
    let Value::String(text) = value else { return };
    let mut words = words(text);
    if words.is_empty() {
        return;
    }
    let at = more % words.len();
    let other = (more / 64) % words.len();
    let another = || WORDS[(what / 8) % WORDS.len()].to_owned();
    match what % 8 {
        0 | 1 => words[at] = another(),
        2 | 3 => words.insert(at, another()),
        4 => drop(words.remove(at)),
        5 => words.swap(at, other),
        6 => {
            let (from, to) = (at.min(other), at.max(other));
            let copy = words[from..to].to_vec();
            words.splice(from..from, copy);
        }
        _ => {
            let repeated = vec![another(); 1 + more % 400];
            words.splice(at..at, repeated);
        }
    }
    *text = words.concat();
}

/// Splits an expression into words, with spaces and signs as words of their own.
fn words(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || "_#:".contains(c);
    let mut words: Vec<String> = Vec::new();
    for c in text.chars() {
        match words.last_mut().filter(|word| is_part(c) && word.chars().all(is_part)) {
            Some(word) => word.push(c),
            None => words.push(c.to_string()),
        }
    }
    words
}

const WORDS: &[&str] = &[
    " ",
    "(",
    ")",
    "[",
    "]",
    ",",
    ".",
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "+",
    "-",
    "#",
    ":",
    "#a",
    ":n",
    ":a",
    "#l",
    "list",
    "id",
    "due",
    "x",
    "x[1]",
    "x[99999999999]",
    "m.k",
    " AND ",
    " OR ",
    " NOT ",
    " IN ",
    " BETWEEN ",
    " SET ",
    " REMOVE ",
    " ADD ",
    " DELETE ",
    "size(x)",
    "size(",
    "contains(x, :a)",
    "begins_with(",
    "attribute_exists(x)",
    "attribute_type(x, :a)",
    "if_not_exists(x, :n)",
    "list_append(x, :l)",
    "list_append(",
    "'",
    "\"",
    "?",
    "{",
    "}",
    "<<",
    ">>",
    "--",
    "/*",
    "*/",
    "''",
    "1e999",
    "-1.5e3",
    "NULL",
    "MISSING",
    " IS ",
    " WHERE ",
    "SELECT ",
    " FROM ",
    "tasks",
    "\"tasks\".\"by_due\"",
    " ORDER BY id ",
    " RETURNING ALL OLD *",
    "EXISTS(",
    "INSERT INTO tasks VALUE {'list':'a','id':'9'}",
    "UPDATE tasks ",
    "\u{0}",
    "é",
    "😀",
    "_",
    "0",
    "1",
    "'a'",
    "\"list\" = 'a'",
    "id = '1'",
    "\\",
    "*",
    "!=",
    "||",
    "true",
    "a",
];

fn mutate_bytes(bytes: &mut Vec<u8>, mutation: &Mutation) {
    const PIECES: [&[u8]; 16] = [
        b"{}",
        b"[]",
        b"null",
        b"\"\"",
        b"-1",
        b"1e999",
        b"\"\\ud800\"",
        b"((((",
        b":",
        b",",
        b"{\"L\":[",
        b"\0",
        b"\xff\xfe",
        b"\\u0000",
        b"\"a\":1,",
        b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    ];
    let start = mutation.at % (bytes.len() + 1);
    let end = (start + mutation.more % 40).min(bytes.len());
    match mutation.what % 6 {
        0 => {
            let piece = PIECES[mutation.more % PIECES.len()];
            bytes.splice(start..end, piece.iter().copied());
        }
        1 => drop(bytes.drain(start..end)),
        2 => bytes.truncate(start),
        3 => {
            if let Some(byte) = bytes.get_mut(start) {
                *byte ^= 1 << (mutation.more % 8);
            }
        }
        4 => {
            let copy = bytes[start..end].to_vec();
            bytes.splice(end..end, copy);
        }
        _ => bytes.insert(start, (mutation.more % 256) as u8),
    }
}

/// Values of every type that are often wrong, and some that are right.
fn odd_values() -> Vec<Value> {
    let mut members = Map::new();
    (0..200).for_each(|n| drop(members.insert(format!("a{n}"), json!({ "N": n.to_string() }))));
    vec![
        json!(null),
        json!(true),
        json!(false),
        json!([]),
        json!({}),
        json!(""),
        json!("x"),
        json!(0),
        json!(1),
        json!(-1),
        json!(12.5),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1e308),
        json!([{}]),
        json!([[]]),
        json!([null]),
        json!({ "tasks": {} }),
        json!({ "": {} }),
        json!({ "S": "" }),
        json!({ "S": "a" }),
        json!({ "S": 1 }),
        json!({ "N": "x" }),
        json!({ "N": "" }),
        json!({ "N": 1 }),
        json!({ "N": "1e126" }),
        json!({ "B": "%%" }),
        json!({ "B": "" }),
        json!({ "B": "AQI" }),
        json!({ "SS": [] }),
        json!({ "SS": ["a", "a"] }),
        json!({ "NS": ["1", "1.0"] }),
        json!({ "BS": [""] }),
        json!({ "L": {} }),
        json!({ "L": [{}] }),
        json!({ "M": [] }),
        json!({ "M": { "": { "NULL": true } } }),
        json!({ "NULL": false }),
        json!({ "BOOL": "x" }),
        json!({ "S": "a", "N": "1" }),
        json!({ "S": "x".repeat(100_000) }),
        json!({ "S": "x".repeat(410_000) }),
        json!({ "B": "A".repeat(4096) }),
        json!("x".repeat(3000)),
        json!("ALL_NEW"),
        json!({ "M": members }),
        json!(vec![json!({ "S": "a" }); 101]),
        json!(vec![json!("x"); 30]),
        Value::Object(Map::new()),
    ]
}

fn odd_texts() -> Vec<String> {
    let texts = [
        "",
        "a",
        "é",
        "\u{0}",
        "😀",
        "\u{10ffff}",
        "\"",
        "\\",
        "'",
        "tasks",
        "by_due",
        "by_title",
        "list",
        "id",
        "due",
        ":n",
        "#a",
        ":",
        "#",
        "1",
        "-0",
        "1e400",
        "ALL_NEW",
        "UPDATED_OLD",
        "KEYS_ONLY",
        "TOTAL",
        "COUNT",
        "a.b",
        "a[0]",
        "..",
        "keyloom",
        "__",
        "arn:aws:dynamodb:us-east-1:000000000000:table/tasks",
        "arn:aws:dynamodb:us-east-1:000000000000:table/tasks/index/by_due",
        "aws:x",
    ];
    let long = [37, 256, 1025, 2049, 5000, 70_000].map(|length| "x".repeat(length));
    texts.map(str::to_owned).into_iter().chain(long).collect()
}
