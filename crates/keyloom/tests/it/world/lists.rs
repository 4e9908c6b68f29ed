//! Every list equals a filter and a sort, in both directions, on pages of any size, in any range.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use keyloom::{ListQuery, Record};
use keyloom_model::{Direction, FieldId, FieldType, List, Literal, OrderBy, Test};
use keyloom_testkit::Random;
use keyloom_value::Value;
use pollster::block_on;

use super::building::What;
use super::play::World;
use super::{Naive, Thing, rows};

/// Restricts the order of a list.
struct Restriction {
    order: OrderBy,
    side: Side,
    value: Value,
}

#[derive(Clone, Copy, Debug)]
enum Side {
    Equal,
    AtLeast,
    MoreThan,
    AtMost,
    LessThan,
}

impl World {
    pub(crate) fn check_lists(&self, random: &mut Random) {
        for (_, entity) in self.naive.model.entities() {
            let is_built =
                |list: &&List| self.naive.building.has_built(What::List, entity, &list.name);
            for list in entity.lists.iter().filter(is_built) {
                for tenant in self.tenants_of(&entity.name) {
                    let listed = self.naive.listed(&entity.name, list, tenant.as_ref());
                    let mut all: Vec<Vec<Value>> = vec![];
                    for by in listed.iter().map(|thing| self.naive.values(thing, &list.by)) {
                        if !all.contains(&by) {
                            all.push(by);
                        }
                    }
                    for by in all {
                        let of = |thing: &Thing| self.naive.values(thing, &list.by) == by;
                        let some = listed.iter().copied().filter(|thing| of(thing)).collect();
                        self.check_list((&entity.name, list), (tenant.as_ref(), &by), some, random);
                    }
                }
            }
        }
    }

    fn check_list(
        &self,
        (kind, list): (&str, &List),
        (tenant, by): (Option<&Value>, &[Value]),
        mut expected: Vec<&Thing>,
        random: &mut Random,
    ) {
        let naive = &self.naive;
        let name = |field: FieldId| naive.entity(kind).field(field).name.as_str();
        let mut query = self.db(tenant).list(kind, &list.name);
        for (field, value) in list.by.iter().zip(by) {
            query = query.by(name(*field), value.clone());
        }
        for Restriction { order, side, value } in naive.restrictions(list, &expected, random) {
            let field = name(order.field);
            query = match side {
                Side::Equal => query.equal(field, value.clone()),
                Side::AtLeast => query.at_least(field, value.clone()),
                Side::MoreThan => query.more_than(field, value.clone()),
                Side::AtMost => query.at_most(field, value.clone()),
                Side::LessThan => query.less_than(field, value.clone()),
            };
            expected.retain(|thing| {
                let own = naive.value(thing, order.field).expect("it is in the list");
                let ordering = naive.compare(kind, order.field, &own, &value);
                match side {
                    Side::Equal => ordering.is_eq(),
                    Side::AtLeast => ordering.is_ge(),
                    Side::MoreThan => ordering.is_gt(),
                    Side::AtMost => ordering.is_le(),
                    Side::LessThan => ordering.is_lt(),
                }
            });
        }
        let numbers = self.numbers(kind, tenant);
        let place = |thing: &Thing| (numbers.get(&thing.key.id), thing.key.id.clone());
        expected.sort_by(|left, right| {
            let by_place = || place(left).cmp(&place(right));
            naive.ordering(kind, list, left, right).then_with(by_place)
        });
        self.compare_list(query.clone(), &expected, random);
        expected.reverse();
        self.compare_list(query.backward(), &expected, random);
    }

    /// The stored ordinals of entities with tags or facets, which order ties. They are not always
    /// in order of creation: a model change may have added them later.
    fn numbers(&self, kind: &str, tenant: Option<&Value>) -> BTreeMap<String, u64> {
        if !self.naive.entity(kind).has_ordinals() {
            return BTreeMap::new();
        }
        let own = rows::own(&self.layout, &rows::scan(&*self.store)).into_iter();
        let of_kind = own.filter(|row| {
            let key = &row.image.key;
            key.entity == self.naive.entity_id(kind) && key.tenant.as_ref() == tenant
        });
        let number = |row: keyloom_model::OwnRow| {
            let number = row.image.ordinal.expect("it has a number");
            (row.image.key.id, number)
        };
        of_kind.map(number).collect()
    }

    fn compare_list(&self, query: ListQuery, expected: &[&Thing], random: &mut Random) {
        let records = read_all(&query, random);
        let ids = |records: &[Record]| -> Vec<String> {
            records.iter().map(|record| record.id().to_owned()).collect()
        };
        let expected_ids: Vec<String> = expected.iter().map(|thing| thing.key.id.clone()).collect();
        assert_eq!(ids(&records), expected_ids, "of {query:?}");
        for (record, thing) in records.iter().zip(expected) {
            self.compare_record(Some(record), Some(thing));
        }
    }
}

/// All pages of a list.
pub(crate) fn read_all(query: &ListQuery, random: &mut Random) -> Vec<Record> {
    let mut query = query.clone();
    let mut records = vec![];
    loop {
        query = query.limit(*random.pick(&[1, 1, 2, 3, 7, 100]));
        let page = block_on(query.read()).expect("a list can be read");
        records.extend(page.items);
        match page.next {
            None => return records,
            Some(next) => query = query.after(next),
        }
    }
}

impl Naive {
    /// The entities in a list of a tenant, unordered.
    pub(crate) fn listed(&self, kind: &str, list: &List, tenant: Option<&Value>) -> Vec<&Thing> {
        let order = list.order.iter().map(|order| order.field);
        let fields: Vec<FieldId> = list.by.iter().copied().chain(order).collect();
        let things = self.things.iter().filter(|thing| {
            thing.key.kind == kind && thing.key.tenant.as_ref() == tenant && !self.is_expired(thing)
        });
        let is_whole =
            |thing: &&Thing| fields.iter().all(|field| self.value(thing, *field).is_some());
        things.filter(|thing| self.passes(thing, &list.filter)).filter(is_whole).collect()
    }

    /// Whether an entity has the values of `where`.
    pub(crate) fn passes(&self, thing: &Thing, filter: &[Test]) -> bool {
        filter.iter().all(|test| match (&test.value, self.value(thing, test.field)) {
            (Literal::Text(text), Some(Value::S(own))) => *text == own,
            (Literal::Int(number) | Literal::Time(number), Some(Value::N(own))) => {
                own.to_i64() == Some(*number)
            }
            (Literal::Number(number), Some(Value::N(own))) => *number == own,
            (Literal::Bool(truth), Some(Value::Bool(own))) => *truth == own,
            _ => false,
        })
    }

    pub(crate) fn values(&self, thing: &Thing, fields: &[FieldId]) -> Vec<Value> {
        fields.iter().map(|field| self.value(thing, *field).expect("it is in the list")).collect()
    }

    /// Compares two entities by the order of a list.
    pub(crate) fn ordering(
        &self,
        kind: &str,
        list: &List,
        left: &Thing,
        right: &Thing,
    ) -> Ordering {
        for order in &list.order {
            let [left, right] = [left, right].map(|thing| self.value(thing, order.field).unwrap());
            let ordering = self.compare(kind, order.field, &left, &right);
            let ordering = match order.direction {
                Direction::Ascending => ordering,
                Direction::Descending => ordering.reverse(),
            };
            if ordering.is_ne() {
                return ordering;
            }
        }
        Ordering::Equal
    }

    fn compare(&self, kind: &str, field: FieldId, left: &Value, right: &Value) -> Ordering {
        match (&self.entity(kind).field(field).of, left, right) {
            (FieldType::Enum(members), Value::S(left), Value::S(right)) => {
                let place = |word: &String| members.iter().position(|member| member == word);
                place(left).cmp(&place(right))
            }
            (_, Value::S(left), Value::S(right)) => left.cmp(right),
            (_, Value::N(left), Value::N(right)) => left.cmp(right),
            (_, Value::B(left), Value::B(right)) => left.cmp(right),
            (_, Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            _ => panic!("{left} and {right} have no order"),
        }
    }

    /// A random range, with values that occur in the list.
    fn restrictions(
        &self,
        list: &List,
        things: &[&Thing],
        random: &mut Random,
    ) -> Vec<Restriction> {
        let mut all = vec![];
        if random.chance(1, 2) || list.order.is_empty() {
            return all;
        }
        let equal = random.index(list.order.len() + 1);
        let anyone = *random.pick(things);
        for (index, order) in list.order.iter().enumerate().take(equal + 1) {
            let of = |thing: &Thing| self.value(thing, order.field).expect("it is in the list");
            if index < equal {
                all.push(Restriction { order: *order, side: Side::Equal, value: of(anyone) });
                continue;
            }
            let mut add = |sides: &[Side], random: &mut Random| {
                if random.chance(2, 3) {
                    let value = of(random.pick::<&Thing>(things));
                    all.push(Restriction { order: *order, side: *random.pick(sides), value });
                }
            };
            add(&[Side::AtLeast, Side::MoreThan], random);
            add(&[Side::AtMost, Side::LessThan], random);
        }
        all
    }
}
