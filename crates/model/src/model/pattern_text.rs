//! Texts that a pattern matches: for examples, and for plans, whose samples have values of every field.

use regex_lite::Regex;
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Ast, RepetitionKind, RepetitionRange};

use super::entity::Entity;
use super::pattern::Pattern;

/// How many more repetitions than necessary are tried, for texts with a minimum length.
const MORE_MAX: usize = 40;

/// Returns a text that a pattern matches and that fits: `choose` picks one of so many possibilities. `None` if
/// none is found: what is between characters, such as `\b`, is not looked at, and only simple characters are
/// tried.
pub(super) fn text_of(
    pattern: &Pattern,
    fits: impl Fn(&str) -> bool,
    mut choose: impl FnMut(usize) -> usize,
) -> Option<String> {
    let syntax = Parser::new().parse(pattern.as_str()).ok()?;
    for more in 0..=MORE_MAX {
        let mut writer =
            Writer { pattern: pattern.as_str(), more, choose: &mut choose, text: String::new() };
        writer.write(&syntax)?;
        // More of it would not match either.
        if !pattern.matches(&writer.text) {
            return None;
        }
        if fits(&writer.text) {
            return Some(writer.text);
        }
    }
    None
}

struct Writer<'p> {
    pattern: &'p str,
    /// How many more repetitions than necessary there are.
    more: usize,
    choose: &'p mut dyn FnMut(usize) -> usize,
    text: String,
}

impl Writer<'_> {
    fn write(&mut self, part: &Ast) -> Option<()> {
        match part {
            Ast::Empty(_) | Ast::Flags(_) | Ast::Assertion(_) => {}
            Ast::Literal(literal) => self.text.push(literal.c),
            Ast::Dot(_) | Ast::ClassUnicode(_) | Ast::ClassPerl(_) | Ast::ClassBracketed(_) => {
                let span = part.span();
                let members = members(&self.pattern[span.start.offset..span.end.offset])?;
                let chosen = *self.pick(&members)?;
                self.text.push(chosen);
            }
            Ast::Repetition(repetition) => {
                for _ in 0..self.count(&repetition.op.kind) {
                    self.write(&repetition.ast)?;
                }
            }
            Ast::Group(group) => self.write(&group.ast)?,
            Ast::Alternation(alternation) => {
                let chosen = self.pick(&alternation.asts)?;
                self.write(chosen)?;
            }
            Ast::Concat(concat) => concat.asts.iter().try_for_each(|part| self.write(part))?,
        }
        // A nested repetition could have far more.
        (self.text.len() <= 4 * Entity::PATTERN_TEXT_MAX).then_some(())
    }

    /// What is optional is there: it shows more of the pattern.
    fn count(&self, kind: &RepetitionKind) -> usize {
        let (low, high) = match kind {
            RepetitionKind::ZeroOrOne => (0, Some(1)),
            RepetitionKind::ZeroOrMore | RepetitionKind::Range(RepetitionRange::AtLeast(0)) => {
                (0, None)
            }
            RepetitionKind::OneOrMore => (1, None),
            RepetitionKind::Range(RepetitionRange::Exactly(count)) => (*count, Some(*count)),
            RepetitionKind::Range(RepetitionRange::AtLeast(low)) => (*low, None),
            RepetitionKind::Range(RepetitionRange::Bounded(low, high)) => (*low, Some(*high)),
        };
        let count = low.max(1) as usize + self.more;
        high.map_or(count, |high| count.min(high as usize))
    }

    fn pick<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        among.get((self.choose)(among.len()))
    }
}

/// The simple characters that a class has, and those that it is written with.
fn members(class: &str) -> Option<Vec<char>> {
    let class_alone = Regex::new(&format!("^(?:{class})$")).ok()?;
    let simple = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain("-_. /:,+".chars());
    let has = |found: &char| class_alone.is_match(found.encode_utf8(&mut [0; 4]));
    let found: Vec<char> = simple.filter(has).collect();
    Some(if found.is_empty() { class.chars().filter(has).collect() } else { found })
}
