//! What holds at any time: every query returns what the naive database returns.

use keyloom::{Finding, Problem, Repair, WithChildren};
use keyloom_testkit::Random;
use keyloom_value::Value;
use pollster::block_on;

use super::play::{Depth, Marks, World};
use super::{Naive, Thing};

impl World {
    /// Compares both databases to this depth.
    pub(crate) fn check(&self, depth: Depth, random: &mut Random) {
        self.compare_rows();
        match depth {
            Depth::Rows => {}
            Depth::All => {
                self.check_verify();
                self.check_gets();
                self.check_queries(random);
            }
        }
    }

    /// Compares the results of every query that is built.
    pub(crate) fn check_queries(&self, random: &mut Random) {
        self.check_uniques();
        self.check_families(random);
        self.check_lists(random);
        self.check_filters(random);
        self.check_counts(random);
    }

    pub(crate) fn check_verify(&self) {
        let findings = block_on(self.db.verify(Repair::No, |_| {})).expect("it can be verified");
        let is_told = |finding: &&Finding| match self.marks {
            Marks::None => true,
            Marks::Some => finding.problem != Problem::StaleTombstone,
        };
        let findings: Vec<_> = findings.iter().filter(is_told).collect();
        assert!(findings.is_empty(), "verify finds {findings:#?}");
    }

    /// All tenants, and no tenant.
    pub(crate) fn tenants(&self) -> Vec<Option<Value>> {
        let mut tenants: Vec<Option<Value>> = vec![None];
        for thing in &self.naive.things {
            if !tenants.contains(&thing.key.tenant) {
                tenants.push(thing.key.tenant.clone());
            }
        }
        tenants
    }

    /// The tenants that a kind can have; none if it is shared.
    pub(crate) fn tenants_of(&self, kind: &str) -> Vec<Option<Value>> {
        match self.naive.tenants_field(kind) {
            None => vec![None],
            Some(field) => {
                let fits = |tenant: &Option<Value>| {
                    tenant.as_ref().is_some_and(|tenant| field.check(tenant).is_ok())
                };
                self.tenants().into_iter().filter(fits).collect()
            }
        }
    }

    pub(crate) fn check_gets(&self) {
        for thing in &self.naive.things {
            for tenant in self.tenants_of(&thing.key.kind) {
                let id = &thing.key.id;
                let found = block_on(self.db(tenant.as_ref()).get(&thing.key.kind, id));
                let expected = self.naive.seen(&thing.key.kind, tenant.as_ref());
                let expected = expected.filter(|other| other.key.id == *id).last();
                self.compare_record(found.expect("it can be read").as_ref(), expected);
            }
        }
    }

    pub(crate) fn check_uniques(&self) {
        for thing in &self.naive.things {
            let kind = &thing.key.kind;
            for (_, unique) in self.naive.entity(kind).uniques() {
                if self.naive.unique_value(thing, unique).is_none()
                    || self.naive.is_pending(kind, unique)
                {
                    continue;
                }
                let fields: Vec<_> = unique.within.iter().chain(&unique.fields).collect();
                let names = self.naive.unique_fields(kind, unique);
                let values = fields.iter().map(|field| self.naive.value(thing, **field));
                let values: Vec<(&str, Value)> =
                    names.iter().map(String::as_str).zip(values.map(Option::unwrap)).collect();
                for tenant in self.tenants_of(kind) {
                    let found = block_on(self.db(tenant.as_ref()).find(kind, &values));
                    let asked = |other: &&Thing| {
                        let value = self.naive.unique_value(other, unique);
                        value.is_some() && value == self.naive.unique_value(thing, unique)
                    };
                    let expected: Vec<&Thing> =
                        self.naive.seen(kind, tenant.as_ref()).filter(asked).collect();
                    assert!(expected.len() < 2, "not unique: {expected:?}");
                    let found = found.expect("it can be found");
                    self.compare_record(found.as_ref(), expected.first().copied());
                }
            }
        }
    }

    pub(crate) fn check_families(&self, random: &mut Random) {
        for thing in &self.naive.things {
            let kinds = child_kinds(&self.naive, &thing.key.kind);
            let mut questions: Vec<Option<&str>> = kinds.iter().map(|kind| Some(*kind)).collect();
            questions.push(None);
            for question in questions {
                self.check_family(thing, question, &kinds, random);
            }
        }
    }

    fn check_family(
        &self,
        parent: &Thing,
        question: Option<&str>,
        kinds: &[&str],
        random: &mut Random,
    ) {
        let db = self.db(parent.key.tenant.as_ref());
        let (kind, id) = (&parent.key.kind, &parent.key.id);
        let limit = 1 + u32::try_from(random.below(4)).expect("small");
        let found = block_on(db.with_children(kind, id, question, limit)).expect("it can be read");
        if self.naive.is_expired(parent) {
            assert!(found.is_none(), "expired, and has children");
            return;
        }
        let WithChildren { parent: record, mut children, mut next, .. } = found.expect("it exists");
        self.compare_record(Some(&record), Some(parent));
        while let Some(cursor) = next {
            let page = db.children(kind, id, question, (limit, Some(&cursor)));
            let page = block_on(page).expect("children can be read").expect("the parent exists");
            children.extend(page.items);
            next = page.next;
        }
        let mut expected: Vec<&Thing> = vec![];
        for child in kinds.iter().filter(|kind| question.is_none_or(|asked| asked == **kind)) {
            let of_parent = |thing: &&Thing| {
                let parent_id = thing.fields.get(kind).and_then(Value::as_s);
                parent_id == Some(id.as_str())
            };
            let tenant = parent.key.tenant.as_ref();
            let mut some: Vec<&Thing> = self.naive.seen(child, tenant).filter(of_parent).collect();
            some.sort_by(|left, right| left.key.id.cmp(&right.key.id));
            expected.extend(some);
        }
        assert_eq!(children.len(), expected.len(), "{children:?} for {expected:?}");
        for (child, thing) in children.iter().zip(expected) {
            self.compare_record(Some(child), Some(thing));
        }
    }
}

/// The names of the kinds that have this one as parent, in the order of their names in keys.
fn child_kinds<'n>(naive: &'n Naive, kind: &str) -> Vec<&'n str> {
    let is_child = |entity: &keyloom_model::Entity| {
        entity.parent.is_some_and(|parent| entity.field(parent).name == kind)
    };
    let kinds = naive.model.entities().map(|(_, entity)| entity).filter(|kind| is_child(kind));
    let mut kinds: Vec<&keyloom_model::Entity> = kinds.collect();
    kinds.sort_by_key(|kind| &kind.stored);
    kinds.into_iter().map(|kind| kind.name.as_str()).collect()
}
