//! Texts that a pattern matches: for examples, and for plans, whose samples have values of every field.

use std::collections::BTreeMap;

use regex_lite::Regex;
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Ast, RepetitionKind, RepetitionRange};

use super::field::Limits;
use super::pattern::{Pattern, TEXT_MAX};

/// How many more repetitions than necessary are tried, for texts with a minimum length.
const MORE_MAX: usize = 40;

/// Returns a text that a pattern matches and that has a length within the limits: `choose` picks one of so many
/// possibilities. `None` if none is found: what is between characters, such as `\b`, is not looked at, and only simple
/// characters are tried.
pub(super) fn text_of(
    pattern: &Pattern,
    length: &Limits<u64>,
    mut choose: impl FnMut(usize) -> usize,
) -> Option<String> {
    let syntax = Parser::new().parse(pattern.as_str()).ok()?;
    let mut classes = BTreeMap::new();
    for more in 0..=MORE_MAX {
        let mut writer = Writer {
            pattern: pattern.as_str(),
            more,
            choose: &mut choose,
            classes: &mut classes,
            text: String::new(),
        };
        writer.write(&syntax)?;
        let text = writer.text;
        let chars = text.chars().count() as u64;
        // With more of it, it would not match either, or be still longer.
        if !pattern.matches(&text) || length.high.is_some_and(|high| chars > high) {
            return None;
        }
        if length.contains(&chars) {
            return Some(text);
        }
    }
    None
}

struct Writer<'w, 'p> {
    pattern: &'p str,
    /// How many more repetitions than necessary there are.
    more: usize,
    choose: &'w mut dyn FnMut(usize) -> usize,
    /// The members of classes, as they are written in the pattern: a class is compiled once.
    classes: &'w mut BTreeMap<&'p str, Vec<char>>,
    text: String,
}

impl Writer<'_, '_> {
    fn write(&mut self, part: &Ast) -> Option<()> {
        match part {
            Ast::Empty(_) | Ast::Flags(_) | Ast::Assertion(_) => {}
            Ast::Literal(literal) => self.text.push(literal.c),
            Ast::Dot(_) | Ast::ClassUnicode(_) | Ast::ClassPerl(_) | Ast::ClassBracketed(_) => {
                let span = part.span();
                let class = &self.pattern[span.start.offset..span.end.offset];
                let members = self.classes.entry(class).or_insert_with(|| members(class));
                self.text.push(*pick(members, self.choose)?);
            }
            Ast::Repetition(repetition) => {
                for _ in 0..self.count(&repetition.op.kind) {
                    self.write(&repetition.ast)?;
                }
            }
            Ast::Group(group) => self.write(&group.ast)?,
            Ast::Alternation(alternation) => {
                let chosen = pick(&alternation.asts, self.choose)?;
                self.write(chosen)?;
            }
            Ast::Concat(concat) => concat.asts.iter().try_for_each(|part| self.write(part))?,
        }
        // A nested repetition could have far more.
        (self.text.len() <= 4 * TEXT_MAX).then_some(())
    }

    /// What is optional is there: it shows more of the pattern.
    fn count(&self, kind: &RepetitionKind) -> usize {
        let (low, high) = match kind {
            RepetitionKind::ZeroOrOne => (0, Some(1)),
            RepetitionKind::ZeroOrMore => (0, None),
            RepetitionKind::OneOrMore => (1, None),
            RepetitionKind::Range(RepetitionRange::Exactly(count)) => (*count, Some(*count)),
            RepetitionKind::Range(RepetitionRange::AtLeast(low)) => (*low, None),
            RepetitionKind::Range(RepetitionRange::Bounded(low, high)) => (*low, Some(*high)),
        };
        let count = low.max(1) as usize + self.more;
        high.map_or(count, |high| count.min(high as usize))
    }
}

fn pick<'a, T>(among: &'a [T], choose: &mut dyn FnMut(usize) -> usize) -> Option<&'a T> {
    if among.is_empty() { None } else { among.get(choose(among.len())) }
}

/// The members of a class that are simple characters; without any, those in ASCII, and without these, those that it
/// is written with.
fn members(class: &str) -> Vec<char> {
    let Ok(alone) = Regex::new(&format!("^(?:{class})$")) else { return vec![] };
    let has = |found: &char| alone.is_match(found.encode_utf8(&mut [0; 4]));
    let simple = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain("-_. /:,+".chars());
    let mut found: Vec<char> = simple.filter(has).collect();
    if found.is_empty() {
        found = ('\0'..='\x7F').filter(has).collect();
    }
    if found.is_empty() {
        found = class.chars().filter(has).collect();
    }
    found
}
