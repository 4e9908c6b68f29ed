//! Text form of all types: close to DynamoDB's expressions, with values in place of placeholders.
//! Different values have different texts.
//!
//! ```text
//! value     ::= text | number | bytes | "true" | "false" | "null" | list | map | set
//! text      ::= '"' (character | escape)* '"'
//! bytes     ::= "0x" hex*
//! list      ::= "[" (value ("," value)*)? "]"
//! map       ::= "{" (name ":" value ("," name ":" value)*)? "}"
//! set       ::= ("SS" | "NS" | "BS") "{" (value ("," value)*)? "}"
//! name      ::= word | "`" (character | escape)* "`"
//! path      ::= name ("." name | "[" index "]")*
//!
//! operand   ::= value | path | "size" "(" path ")"
//! condition ::= operand operator operand
//!             | operand "BETWEEN" operand "AND" operand
//!             | operand "IN" "(" (operand ("," operand)*)? ")"
//!             | function "(" path-or-operand ("," operand-or-type)? ")"
//!             | "NOT" "(" condition ")"
//!             | inner ("AND" inner)+ | inner ("OR" inner)+
//!             | ("AND" | "OR") "(" condition? ")"
//! inner     ::= condition, in parentheses if it joins several
//!
//! set-value ::= term | term ("+" | "-") term
//! term      ::= value | path | "if_not_exists" "(" path "," set-value ")"
//!             | "list_append" "(" set-value "," set-value ")" | "(" set-value ")"
//! update    ::= ("SET" …)? ("REMOVE" …)? ("ADD" …)? ("DELETE" …)?
//! ```
//!
//! A word consists of letters, digits and `_`, does not begin with a digit, and is not `true`,
//! `false` or `null`. All other names are in backquotes, so that no name looks like a value or a
//! longer path.

mod expression;

use std::fmt::{self, Display, Formatter, Write};

use crate::{Item, Path, Step, Value};

/// A string or name in quotes, with escapes.
pub(crate) struct Quoted<'a> {
    text: &'a str,
    quote: char,
}

impl<'a> Quoted<'a> {
    pub(crate) fn text(text: &'a str) -> Quoted<'a> {
        Quoted { text, quote: '"' }
    }
}

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char(self.quote)?;
        for character in self.text.chars() {
            match character {
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\\' => f.write_str("\\\\")?,
                _ if character == self.quote => write!(f, "\\{character}")?,
                _ if character.is_control() => write!(f, "\\u{{{:x}}}", u32::from(character))?,
                _ => f.write_char(character)?,
            }
        }
        f.write_char(self.quote)
    }
}

/// A name in a map or path.
struct Word<'a>(&'a str);

impl Display for Word<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = self.0;
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
            && !["true", "false", "null"].contains(&name);
        if plain { f.write_str(name) } else { Quoted { text: name, quote: '`' }.fmt(f) }
    }
}

struct Hex<'a>(&'a [u8]);

impl Display for Hex<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Writes values with a separator between them.
fn write_joined(
    f: &mut Formatter<'_>,
    things: impl IntoIterator<Item = impl Display>,
    separator: &str,
) -> fmt::Result {
    for (index, thing) in things.into_iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        thing.fmt(f)?;
    }
    Ok(())
}

fn write_enclosed(
    f: &mut Formatter<'_>,
    open: &str,
    things: impl IntoIterator<Item = impl Display>,
    close: &str,
) -> fmt::Result {
    f.write_str(open)?;
    write_joined(f, things, ", ")?;
    f.write_str(close)
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Value::S(text) => Quoted::text(text).fmt(f),
            Value::N(number) => number.fmt(f),
            Value::B(bytes) => Hex(bytes).fmt(f),
            Value::Bool(boolean) => boolean.fmt(f),
            Value::Null => f.write_str("null"),
            Value::L(elements) => write_enclosed(f, "[", elements, "]"),
            Value::M(members) => members.fmt(f),
            Value::Ss(texts) => {
                write_enclosed(f, "SS{", texts.iter().map(|text| Quoted::text(text)), "}")
            }
            Value::Ns(numbers) => write_enclosed(f, "NS{", numbers, "}"),
            Value::Bs(byte_strings) => {
                write_enclosed(f, "BS{", byte_strings.iter().map(|bytes| Hex(bytes)), "}")
            }
        }
    }
}

impl Display for Item {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let attributes = self.iter().map(|(name, value)| Attribute { name: name.as_str(), value });
        write_enclosed(f, "{", attributes, "}")
    }
}

struct Attribute<'a> {
    name: &'a str,
    value: &'a Value,
}

impl Display for Attribute<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Word(self.name), self.value)
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Word(self.root().as_str()).fmt(f)?;
        self.steps().iter().try_for_each(|step| match step {
            Step::Member(name) => write!(f, ".{}", Word(name.as_str())),
            Step::Element(index) => write!(f, "[{index}]"),
        })
    }
}
