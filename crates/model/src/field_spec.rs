//! The text of a field → [`FieldSpec`].
//!
//! ```text
//! field   = type [ "?" ] [ range ] [ "=" default ]
//! type    = "text" | "int" | "number" | "bool" | "time" | "bytes" | "any" | "tags"
//!         | "enum" "(" word { "," word } ")"
//!         | "ref" entity [ "refuse" | "cascade" | "clear" | "keep" ]
//!         | "list" [ "of" type ]
//!         | "map" [ "of" type ]
//! range   = [ bound ] ".." [ bound ]
//! default = word | quoted text | "[]" | "{}"
//! ```

mod token;

use crate::declared::{
    DeclaredDefault, DeclaredRange, DeclaredType, DefaultKind, FieldSpec, TypeKind,
};
use crate::error::{Code, Report, Reporter};
use crate::model::OnDelete;
use crate::parse::Node;
use crate::source::{Span, Word};
use token::{Token, TokenKind, tokens};

/// Maximum nesting of lists and maps.
const DEPTH_MAX: usize = 8;

const TYPES: &[&str] = &[
    "text", "int", "number", "bool", "time", "bytes", "any", "tags", "enum", "ref", "list", "map",
];
/// The rules for references whose target is deleted.
pub(crate) const RULES: &[(&str, OnDelete)] = &[
    ("refuse", OnDelete::Refuse),
    ("cascade", OnDelete::Cascade),
    ("clear", OnDelete::Clear),
    ("keep", OnDelete::Keep),
];
/// Names of types in other languages, and the type meant.
const FOREIGN: &[(&str, &str)] = &[
    ("string", "text"),
    ("str", "text"),
    ("integer", "int"),
    ("long", "int"),
    ("float", "number"),
    ("double", "number"),
    ("decimal", "number"),
    ("boolean", "bool"),
    ("datetime", "time"),
    ("date", "time"),
    ("timestamp", "time"),
    ("binary", "bytes"),
    ("blob", "bytes"),
    ("json", "any"),
    ("object", "map"),
    ("array", "list"),
];
const GRAMMAR: &str = "a field is `type`, then `?` if it is optional, then a range such as \
                       `1..5`, then `= default`";

/// Parses the text of a field; reports its first error and returns `None`.
pub(crate) fn parse(text: &Word, node: &Node, reporter: &mut Reporter<'_>) -> Option<FieldSpec> {
    let is_verbatim = text.span != node.span;
    let in_file = |span: Span| {
        if is_verbatim {
            Span::new(text.span.start + span.start, text.span.start + span.end)
        } else {
            text.span
        }
    };
    let mut tokens = tokens(&text.text);
    for token in &mut tokens {
        token.word.span = in_file(token.word.span);
    }
    let end = if is_verbatim { Span::new(text.span.end, text.span.end) } else { text.span };
    let mut parser = Parser { tokens, next: 0, end };
    match parser.field() {
        Ok(spec) => Some(spec),
        Err(error) => {
            reporter.push(error.report(reporter));
            None
        }
    }
}

/// Why a text is not a field.
enum SpecError {
    /// Something else was expected here.
    Expected {
        what: &'static str,
        found: Option<Token>,
        end: Span,
    },
    /// The question mark follows the range or the default.
    LateQuestionMark(Span),
    UnknownType(Word),
    TooDeep(Span),
}

impl SpecError {
    fn report(self, reporter: &Reporter<'_>) -> Report {
        match self {
            SpecError::Expected { what, found, end } => {
                let (span, found) = match found {
                    Some(token) => (token.word.span, format!("`{}`", token.word.text)),
                    None => (end, "the end of the text".to_owned()),
                };
                let reason = format!("expected {what}, found {found}");
                Report::new(Code::SpecSyntax, span, reason).help(GRAMMAR)
            }
            SpecError::LateQuestionMark(span) => {
                let reason = "`?` must follow the type, before a range";
                Report::new(Code::SpecSyntax, span, reason).help(GRAMMAR)
            }
            SpecError::UnknownType(word) => {
                let reason = format!("unknown type `{}`", word.text);
                let meant = FOREIGN.iter().find(|(foreign, _)| *foreign == word.text);
                let help = match meant {
                    Some((_, ours)) => Some(format!("write `{ours}`")),
                    None => reporter.suggest(&word.text, "types are", TYPES.iter().copied()),
                };
                Report { code: Code::UnknownType, span: word.span, reason, help }
            }
            SpecError::TooDeep(span) => {
                let reason = format!("lists and maps are nested more than {DEPTH_MAX} deep");
                let help = "`any` holds a value of any depth";
                Report::new(Code::TypeTooDeep, span, reason).help(help)
            }
        }
    }
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    end: Span,
}

impl Parser {
    fn field(&mut self) -> Result<FieldSpec, SpecError> {
        let of = self.type_of(0)?;
        let optional = self.mark("?");
        let range = self.range()?;
        let default = match self.mark("=") {
            Some(_) => Some(self.default()?),
            None => None,
        };
        match self.peek() {
            None => Ok(FieldSpec { of, optional, range, default }),
            Some(token) if token.word.text == "?" => {
                Err(SpecError::LateQuestionMark(token.word.span))
            }
            Some(_) if default.is_some() => Err(self.expected("nothing after the default")),
            Some(_) => Err(self.expected("`?`, a range, `= default` or nothing more")),
        }
    }

    fn type_of(&mut self, depth: usize) -> Result<DeclaredType, SpecError> {
        let word = self.word("a type")?;
        if depth > DEPTH_MAX {
            return Err(SpecError::TooDeep(word.span));
        }
        let kind = match word.text.as_str() {
            "text" => TypeKind::Text,
            "int" => TypeKind::Int,
            "number" => TypeKind::Number,
            "bool" => TypeKind::Bool,
            "time" => TypeKind::Time,
            "bytes" => TypeKind::Bytes,
            "any" => TypeKind::Any,
            "tags" => TypeKind::Tags,
            "enum" => TypeKind::Enum(self.members()?),
            "ref" => TypeKind::Ref { entity: self.word("an entity")?, rule: self.rule() },
            "list" => TypeKind::List(self.element(depth)?),
            "map" => TypeKind::Map(self.element(depth)?),
            _ => return Err(SpecError::UnknownType(word)),
        };
        let last = self.tokens[self.next - 1].word.span;
        Ok(DeclaredType { kind, span: word.span.to(last) })
    }

    fn element(&mut self, depth: usize) -> Result<Option<Box<DeclaredType>>, SpecError> {
        if !self.peek().is_some_and(|t| t.kind == TokenKind::Word && t.word.text == "of") {
            return Ok(None);
        }
        self.next += 1;
        Ok(Some(Box::new(self.type_of(depth + 1)?)))
    }

    fn members(&mut self) -> Result<Vec<Word>, SpecError> {
        self.mark("(").ok_or_else(|| self.expected("`(` and the members of the enum"))?;
        let mut members = vec![];
        while self.mark(")").is_none() {
            members.push(self.word("a member of the enum, or `)`")?);
            let is_last = self.peek().is_some_and(|token| token.word.text == ")");
            if !is_last {
                self.mark(",").ok_or_else(|| self.expected("`,` or `)`"))?;
            }
        }
        Ok(members)
    }

    /// A word after the entity is its rule, unless it starts a range.
    fn rule(&mut self) -> Option<Word> {
        let is_rule =
            self.peek().is_some_and(|token| RULES.iter().any(|(rule, _)| *rule == token.word.text));
        let is_range = self.tokens.get(self.next + 1).is_some_and(|t| t.kind == TokenKind::Dots);
        if is_range && !is_rule { None } else { self.word("a rule").ok() }
    }

    fn range(&mut self) -> Result<Option<DeclaredRange>, SpecError> {
        let low = match self.peek().map(|token| token.kind) {
            Some(TokenKind::Dots) => None,
            Some(TokenKind::Word) => Some(self.word("a bound")?),
            _ => return Ok(None),
        };
        let Some(dots) = self.peek().filter(|token| token.kind == TokenKind::Dots) else {
            // The word was not a bound.
            self.next -= 1;
            return Ok(None);
        };
        let dots = dots.word.span;
        self.next += 1;
        let high = self.word("a bound").ok();
        let start = low.as_ref().map_or(dots, |word| word.span);
        let end = high.as_ref().map_or(dots, |word| word.span);
        Ok(Some(DeclaredRange { low, high, span: start.to(end) }))
    }

    fn default(&mut self) -> Result<DeclaredDefault, SpecError> {
        let token = self.peek().cloned();
        let kind = match token.as_ref().map(|token| (token.kind, token.word.text.as_str())) {
            Some((TokenKind::Word, _)) => DefaultKind::Bare,
            Some((TokenKind::Quoted, _)) => DefaultKind::Quoted,
            Some((TokenKind::Mark, "[]")) => DefaultKind::EmptyList,
            Some((TokenKind::Mark, "{}")) => DefaultKind::EmptyMap,
            _ => return Err(self.expected("a default")),
        };
        self.next += 1;
        let word = token.map_or(Word { text: String::new(), span: self.end }, |token| token.word);
        Ok(DeclaredDefault { kind, word })
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    /// Consumes the next token if it is this mark.
    fn mark(&mut self, mark: &str) -> Option<Span> {
        let token = self.peek().filter(|t| t.kind == TokenKind::Mark && t.word.text == mark)?;
        let span = token.word.span;
        self.next += 1;
        Some(span)
    }

    fn word(&mut self, what: &'static str) -> Result<Word, SpecError> {
        match self.peek().filter(|token| token.kind == TokenKind::Word) {
            Some(token) => {
                let word = token.word.clone();
                self.next += 1;
                Ok(word)
            }
            None => Err(self.expected(what)),
        }
    }

    fn expected(&self, what: &'static str) -> SpecError {
        SpecError::Expected { what, found: self.peek().cloned(), end: self.end }
    }
}
