//! Drawing values of fields: by the workload where it says how, otherwise by type.

use std::collections::{BTreeMap, VecDeque};

use keyloom::{Number, Value};
use keyloom_model::workload::{Draw, Workload};
use keyloom_model::{Entity, EntityId, FieldId, FieldType, Limits, Model};

use crate::random::Random;

/// How many draws have exactly the share of the hottest value that the workload says.
const BLOCK: usize = 1000;
/// The values of a field that queries select by, if the workload says nothing.
const VALUES: u64 = 100;
const TEXT_CHARS: u64 = 16;
const ANY_BYTES: u64 = 200;
const BYTES: u64 = 64;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Whether a value is written or read: the two are drawn independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Purpose {
    Write,
    Read,
}

/// The state of all draws.
pub(super) struct Drawer<'d> {
    pub(super) model: &'d Model,
    pub(super) workload: &'d Workload,
    pub(super) random: Random,
    /// Whether the next draws of a field are its hottest value.
    blocks: BTreeMap<(EntityId, FieldId, Purpose), VecDeque<bool>>,
    count: u64,
    /// The time of the sample.
    pub(super) now_ms: i64,
}

impl<'d> Drawer<'d> {
    pub(super) fn new(model: &'d Model, workload: &'d Workload, seed: u64) -> Drawer<'d> {
        let random = Random::new(seed);
        Drawer { model, workload, random, blocks: BTreeMap::new(), count: 0, now_ms: 0 }
    }

    /// A number that was not returned before.
    pub(super) fn fresh(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Which value of a field is drawn, counted from 0, the hottest one; none if they are not counted.
    pub(super) fn number(
        &mut self,
        (entity, field): (EntityId, FieldId),
        purpose: Purpose,
    ) -> Option<u64> {
        let (count, hottest) = match self.workload.draw(entity, field) {
            Some(Draw::Values { count, hottest }) => (*count, *hottest),
            Some(Draw::OneOf(_) | Draw::Bytes(_)) => return None,
            None if self.is_selected(entity, field) => (VALUES, 0.0),
            None => return None,
        };
        if hottest == 0.0 {
            return Some(self.random.below(count));
        }
        let block = self.blocks.entry((entity, field, purpose)).or_default();
        if block.is_empty() {
            let hot = (hottest * BLOCK as f64).round() as usize;
            let mut next: Vec<bool> = (0..BLOCK).map(|place| place < hot).collect();
            self.random.shuffle(&mut next);
            block.extend(next);
        }
        let is_hottest = block.pop_front().unwrap_or_default();
        let rest = count.saturating_sub(1);
        Some(if is_hottest || rest == 0 { 0 } else { 1 + self.random.below(rest) })
    }

    /// A value of a field that is no reference, at this time.
    pub(super) fn value(
        &mut self,
        (id, field): (EntityId, FieldId),
        purpose: Purpose,
        now_ms: i64,
    ) -> Value {
        let entity = self.model.entity(id);
        match self.workload.draw(id, field) {
            Some(Draw::OneOf(values)) => return values[self.random.index(values.len())].clone(),
            Some(Draw::Bytes(bytes)) => return self.sized(&entity.field(field).of, *bytes),
            Some(Draw::Values { .. }) | None => {}
        }
        if entity.expires == Some(field) {
            return Value::from(now_ms.saturating_add(DAY_MS));
        }
        let number = match self.number((id, field), purpose) {
            Some(number) => Some(number),
            None if is_unique(entity, field) => Some(self.fresh()),
            None => None,
        };
        // Other numbers give other texts, as far as there are some.
        let mut rest = number;
        let text = entity.pattern_text(field, |count| {
            let left = rest.get_or_insert_with(|| self.random.below(u64::MAX));
            let chosen = *left % count as u64;
            *left /= count as u64;
            chosen as usize
        });
        if let Some(text) = text {
            return Value::from(text);
        }
        self.of_type(&entity.field(field).of, number, now_ms)
    }

    /// The value if it is one of these members, or any of them.
    pub(super) fn member(&mut self, value: Value, members: &[String]) -> Value {
        if members.is_empty() || members.iter().any(|member| value.as_s() == Some(member)) {
            return value;
        }
        Value::from(members[self.random.index(members.len())].as_str())
    }

    /// A value of a type: the one with this number, or any.
    pub(super) fn of_type(&mut self, of: &FieldType, number: Option<u64>, now_ms: i64) -> Value {
        match of {
            FieldType::Text(limits) => self.text(limits, number),
            FieldType::Int(limits) => Value::from(self.int(limits, number)),
            FieldType::Number(limits) => {
                let bound = |bound: Option<Number>| bound.and_then(|bound| bound.to_i64());
                let limits = Limits { low: bound(limits.low), high: bound(limits.high) };
                Value::from(self.int(&limits, number))
            }
            FieldType::Bool => Value::from(self.random.below(2) == 0),
            FieldType::Time => Value::from(now_ms),
            FieldType::Bytes(limits) => self.sized(of, limits.high.unwrap_or(BYTES).min(BYTES)),
            FieldType::Any => self.sized(of, ANY_BYTES),
            FieldType::Tags => {
                let color = format!("color-{}", self.random.below(8));
                Value::M([("color", Value::from(color))].into())
            }
            FieldType::Enum(members) => {
                let index = self.random.index(members.len());
                members.get(index).map_or(Value::Null, |member| Value::from(member.as_str()))
            }
            // References are drawn where their targets are known.
            FieldType::Ref(..) => Value::Null,
            FieldType::List(of, limits) => {
                let count = limits.low.unwrap_or_default().max(1).min(limits.high.unwrap_or(1));
                Value::L((0..count).map(|_| self.of_type(of, None, now_ms)).collect())
            }
            FieldType::Map(of, limits) => {
                let count = limits.low.unwrap_or_default().max(1).min(limits.high.unwrap_or(1));
                let entry = |place: u64| (format!("k{place}"), self.of_type(of, None, now_ms));
                Value::M((0..count).map(entry).map(|(name, of)| (name.into(), of)).collect())
            }
        }
    }

    fn text(&mut self, limits: &Limits<u64>, number: Option<u64>) -> Value {
        let low = limits.low.unwrap_or_default();
        let high = limits.high.unwrap_or(u64::MAX);
        let mut text = match number {
            Some(0) => "hot".to_owned(),
            Some(number) => format!("v{number}"),
            None => self.letters(TEXT_CHARS.clamp(low, high.max(low))),
        };
        while (text.len() as u64) < low {
            text.push('x');
        }
        // Too short for the number: what distinguishes values is at the end.
        let excess = (text.len() as u64).saturating_sub(high);
        Value::from(text[usize::try_from(excess).unwrap_or_default()..].to_owned())
    }

    fn int(&mut self, limits: &Limits<i64>, number: Option<u64>) -> i64 {
        let low =
            limits.low.or(limits.high.map(|high| high.saturating_sub(999)).filter(|low| *low < 0));
        let low = low.unwrap_or_default();
        let span = limits.high.map_or(u64::MAX, |high| high.abs_diff(low).saturating_add(1));
        let number = number.unwrap_or_else(|| self.random.below(span.min(1000)));
        low.saturating_add_unsigned(number % span.max(1))
    }

    fn sized(&mut self, of: &FieldType, bytes: u64) -> Value {
        match of {
            FieldType::Bytes(_) => {
                Value::from((0..bytes).map(|_| self.random.below(256) as u8).collect::<Vec<u8>>())
            }
            _ => Value::from(self.letters(bytes)),
        }
    }

    fn letters(&mut self, count: u64) -> String {
        let letter = |_| char::from(b'a' + self.random.below(26) as u8);
        (0..count).map(letter).collect()
    }

    /// Whether a query selects or divides entities by a field, so that its values repeat.
    fn is_selected(&self, id: EntityId, field: FieldId) -> bool {
        let entity = self.model.entity(id);
        let is_drawn = matches!(
            entity.field(field).of,
            FieldType::Text(_) | FieldType::Int(_) | FieldType::Number(_) | FieldType::Ref(..)
        );
        let lists = entity.lists.iter().flat_map(|list| list.by.iter().chain(&list.facets));
        let counts = entity.counts.iter().flat_map(|count| count.by.iter().chain(&count.split));
        let boards = entity.boards.iter().flat_map(|board| {
            let of = match board.ranking {
                keyloom_model::Ranking::Count(field) => Some(field),
                keyloom_model::Ranking::Field(_) => None,
            };
            board.by.iter().copied().chain(of).collect::<Vec<_>>()
        });
        let mut selected = lists.chain(counts).copied().chain(boards);
        is_drawn && !is_unique(entity, field) && selected.any(|selected| selected == field)
    }
}

fn is_unique(entity: &Entity, field: FieldId) -> bool {
    entity.uniques.iter().any(|unique| unique.fields.first() == Some(&field))
}
