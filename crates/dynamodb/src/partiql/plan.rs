//! Turns the condition of a `SELECT` into reads.
//!
//! A condition is *keyed* if every alternative of it names the partition key by `=` or `IN`. Then it
//! is divided into branches, one for each partition and each range of the sort key; anything else
//! is a scan. Like the service, it refuses branches of one partition whose ranges overlap, because
//! an item could be returned twice.

use std::cmp::Ordering;

use keyloom_store::{Direction, IndexProjection, IndexSpec, KeyAttribute, KeySchema, TableSpec};
use keyloom_value::{Comparison, Condition, KeyCondition, KeyTest, Name, Operand, Path, Value};

use super::key::equality;
use super::range::SortRange;
use super::resolve::Order;
use super::{Select, StatementError};

/// The most branches of a condition.
const BRANCHES_MAX: usize = 50;

/// The reads of a `SELECT`.
#[derive(Clone, Debug)]
pub(crate) enum Reads {
    /// Ranges of partitions, one after the other.
    Branches { branches: Vec<Branch>, direction: Direction },
    /// The whole table or index, filtered.
    Scan(Option<Condition>),
}

/// A range of one partition.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) key: KeyCondition,
    /// What the key condition does not express.
    pub(crate) filters: Vec<Condition>,
    partition: Value,
    range: SortRange,
    /// Whether a filter excludes values of the sort key, so that it has no single range.
    is_negated: bool,
    /// Whether no item can satisfy it. Such a branch is not read, but counts in some checks.
    is_empty: bool,
}

impl Branch {
    /// Returns the filters that name key attributes, which a query does not accept as a filter, and
    /// the others.
    pub(crate) fn divided(&self, schema: &KeySchema) -> (Vec<Condition>, Vec<Condition>) {
        let on_key = |filter: &Condition| names(filter).any(|name| schema.has(name));
        self.filters.iter().cloned().partition(on_key)
    }

    /// Returns the attributes that its filters name.
    pub(crate) fn filter_names(&self) -> Vec<Name> {
        let mut all: Vec<Name> = Vec::new();
        for name in self.filters.iter().flat_map(names) {
            if !all.contains(name) {
                all.push(name.clone());
            }
        }
        all
    }
}

/// Plans a `SELECT` of the table or the index.
pub(crate) fn plan(
    select: &Select,
    spec: &TableSpec,
    index: Option<&IndexSpec>,
) -> Result<Reads, StatementError> {
    let schema = index.map_or(&spec.key, |index| &index.key);
    let [partition] = schema.partition.as_slice() else { return Err(several_attributes()) };
    let sort = match schema.sort.as_slice() {
        [] => None,
        [sort] => Some(sort),
        _ => return Err(several_attributes()),
    };
    let key = Key { partition, sort };
    let is_keyed = select.filter.as_ref().is_some_and(|filter| key.is_pinned(filter));
    check_order(select, schema, is_keyed)?;
    let Some(filter) = select.filter.as_ref().filter(|_| is_keyed) else {
        return Ok(Reads::Scan(select.filter.clone()));
    };
    let mut branches = key.branches(filter)?;
    if has_overlap(&branches) {
        if select.order.is_empty() && branches.iter().any(|branch| branch.is_negated) {
            return Ok(Reads::Scan(Some(filter.clone())));
        }
        return Err(StatementError::new(
            "Overlapping conditions with range keys are not supported in where clause",
        ));
    }
    check_projected(&branches, spec, index)?;
    branches.retain(|branch| !branch.is_empty);
    let direction = arrange(&mut branches, &select.order, &key)?;
    Ok(Reads::Branches { branches, direction })
}

/// Whether the index projects the attribute.
pub(crate) fn projects(spec: &TableSpec, index: &IndexSpec, name: &Name) -> bool {
    let is_included = match &index.projection {
        IndexProjection::All => true,
        IndexProjection::Keys => false,
        IndexProjection::Include(names) => names.contains(name),
    };
    is_included || spec.key.has(name) || index.key.has(name)
}

fn several_attributes() -> StatementError {
    StatementError::new(
        "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or \
         multi-attribute RANGE keys.",
    )
}

/// The key of a table or index with at most one attribute of each kind.
struct Key<'a> {
    partition: &'a KeyAttribute,
    sort: Option<&'a KeyAttribute>,
}

impl Key<'_> {
    /// Whether every alternative of the condition names the partition.
    fn is_pinned(&self, condition: &Condition) -> bool {
        match condition {
            Condition::And(parts) => parts.iter().any(|part| self.is_pinned(part)),
            Condition::Or(parts) => {
                !parts.is_empty() && parts.iter().all(|part| self.is_pinned(part))
            }
            Condition::In { operand, choices } => {
                is_attribute(operand, &self.partition.name) && choices.iter().all(is_constant)
            }
            other => equality(other).is_some_and(|(name, _)| *name == self.partition.name),
        }
    }

    /// Divides a pinned condition into branches.
    fn branches(&self, condition: &Condition) -> Result<Vec<Branch>, StatementError> {
        let mut branches = Vec::new();
        for conjunction in self.alternatives(condition)? {
            branches.extend(self.branch(conjunction)?);
        }
        Ok(branches)
    }

    /// Returns the alternatives of a condition, each a conjunction. Alternatives that test no key
    /// attribute stay together.
    fn alternatives(&self, condition: &Condition) -> Result<Vec<Vec<Condition>>, StatementError> {
        let found = match condition {
            Condition::And(parts) => {
                let mut product = vec![vec![]];
                for part in parts {
                    product = joined(&product, &self.alternatives(part)?)?;
                }
                product
            }
            Condition::Or(parts) if parts.iter().any(|part| self.tests_key(part)) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.alternatives(part)?);
                    check_count(all.len())?;
                }
                all
            }
            Condition::In { operand, choices } if self.is_key(operand) => {
                let equal = |choice: &Operand| Condition::equal(operand.clone(), choice.clone());
                choices.iter().map(|choice| vec![equal(choice)]).collect()
            }
            other => vec![vec![other.clone()]],
        };
        check_count(found.len())?;
        Ok(found)
    }

    fn is_key(&self, operand: &Operand) -> bool {
        let is_sort = self.sort.is_some_and(|sort| is_attribute(operand, &sort.name));
        is_sort || is_attribute(operand, &self.partition.name)
    }

    /// Whether a test of a key attribute, not negated, is part of the condition.
    fn tests_key(&self, condition: &Condition) -> bool {
        match condition {
            Condition::And(parts) | Condition::Or(parts) => {
                parts.iter().any(|part| self.tests_key(part))
            }
            Condition::In { operand, .. } => self.is_key(operand),
            other => {
                let is = |part: &KeyAttribute| key_test(other, &part.name).is_some();
                is(self.partition) || self.sort.is_some_and(is)
            }
        }
    }

    /// Makes a branch of a conjunction; `None` if it names no partition.
    fn branch(&self, conjunction: Vec<Condition>) -> Result<Option<Branch>, StatementError> {
        let mut partition: Option<Value> = None;
        let mut tests = Vec::new();
        let mut filters = Vec::new();
        let (mut is_negated, mut is_empty) = (false, false);
        for condition in conjunction {
            if let Some((name, value)) = equality(&condition)
                && *name == self.partition.name
            {
                check_type(self.partition, [value])?;
                is_empty |= partition.get_or_insert_with(|| value.clone()) != value;
                continue;
            }
            let test = self.sort.and_then(|sort| Some((sort, key_test(&condition, &sort.name)?)));
            match test {
                Some((sort, test)) => {
                    check_type(sort, constants(&test))?;
                    tests.push((test, condition));
                }
                None => {
                    is_negated |= self.excludes_sort_values(&condition);
                    filters.push(condition);
                }
            }
        }
        let Some(partition) = partition else { return Ok(None) };
        let range = SortRange::of(tests.iter().map(|(test, _)| test));
        is_empty |= range.is_empty();
        let mut key = KeyCondition::equal(self.partition.name.clone(), partition.clone());
        if let (Some(sort), Some(test)) = (self.sort, range.test()) {
            // What the one test of the key condition does not say, a filter does.
            let others = tests.into_iter().filter(|(said, _)| *said != test);
            filters.extend(others.map(|(_, condition)| condition));
            key = key.and(sort.name.clone(), test);
        }
        Ok(Some(Branch { key, filters, partition, range, is_negated, is_empty }))
    }

    fn excludes_sort_values(&self, condition: &Condition) -> bool {
        let Some(sort) = self.sort else { return false };
        let is_negation = matches!(
            condition,
            Condition::Not(_) | Condition::Compare { comparison: Comparison::NotEqual, .. }
        );
        is_negation && names(condition).any(|name| *name == sort.name)
    }
}

/// Joins every conjunction of one list with every one of another.
fn joined(
    left: &[Vec<Condition>],
    right: &[Vec<Condition>],
) -> Result<Vec<Vec<Condition>>, StatementError> {
    check_count(left.len().saturating_mul(right.len()))?;
    let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (left, right)));
    Ok(pairs.map(|(left, right)| [left.as_slice(), right.as_slice()].concat()).collect())
}

fn check_count(branches: usize) -> Result<(), StatementError> {
    if branches <= BRANCHES_MAX {
        return Ok(());
    }
    Err(StatementError::new("Too many decomposed read operations for a given query."))
}

fn check_type<'a>(
    part: &KeyAttribute,
    values: impl IntoIterator<Item = &'a Value>,
) -> Result<(), StatementError> {
    if values.into_iter().all(|value| part.key_type.admits(value)) {
        return Ok(());
    }
    Err(StatementError::new(format!(
        "Key attribute's data type should match its data type in table's schema: Key {}",
        part.name
    )))
}

/// Returns the test that the condition is of an attribute.
fn key_test(condition: &Condition, name: &Name) -> Option<KeyTest> {
    let value = |operand: &Operand| match operand {
        Operand::Value(value) => Some(value.clone()),
        Operand::Path(_) | Operand::Size(_) => None,
    };
    match condition {
        Condition::Compare { left, comparison, right } if is_attribute(left, name) => {
            KeyTest::compare(*comparison, value(right)?)
        }
        Condition::Compare { left, comparison, right } if is_attribute(right, name) => {
            KeyTest::compare(comparison.mirrored(), value(left)?)
        }
        Condition::Between { operand, low, high } if is_attribute(operand, name) => {
            Some(KeyTest::Between(value(low)?, value(high)?))
        }
        Condition::BeginsWith(operand, prefix) if is_attribute(operand, name) => {
            Some(KeyTest::BeginsWith(value(prefix)?))
        }
        _ => None,
    }
}

/// The attributes that a condition mentions.
fn names(condition: &Condition) -> impl Iterator<Item = &Name> {
    condition.mentions().paths.into_iter().map(Path::root)
}

fn constants(test: &KeyTest) -> Vec<&Value> {
    match test {
        KeyTest::Equal(value)
        | KeyTest::Less(value)
        | KeyTest::LessOrEqual(value)
        | KeyTest::Greater(value)
        | KeyTest::GreaterOrEqual(value)
        | KeyTest::BeginsWith(value) => vec![value],
        KeyTest::Between(low, high) => vec![low, high],
    }
}

fn is_attribute(operand: &Operand, name: &Name) -> bool {
    matches!(operand, Operand::Path(path) if path.root() == name && path.steps().is_empty())
}

fn is_constant(operand: &Operand) -> bool {
    matches!(operand, Operand::Value(_))
}

fn has_overlap(branches: &[Branch]) -> bool {
    branches.iter().enumerate().any(|(position, left)| {
        let others = branches.iter().skip(position + 1);
        others.clone().any(|right| {
            left.partition == right.partition
                && left.range.overlaps(&right.range)
                && !(left.is_empty || right.is_empty)
        })
    })
}

/// A keyed read of an index is filtered by what the index projects. The service refuses it only if
/// every branch names something else, and reports the last branch in the order of partitions.
fn check_projected(
    branches: &[Branch],
    spec: &TableSpec,
    index: Option<&IndexSpec>,
) -> Result<(), StatementError> {
    let Some(index) = index else { return Ok(()) };
    let mut branches: Vec<&Branch> = branches.iter().collect();
    branches.sort_by(|left, right| order(&left.partition, &right.partition));
    let mut missing = Vec::new();
    for branch in branches {
        missing = branch.filter_names();
        missing.retain(|name| !projects(spec, index, name));
        if missing.is_empty() {
            return Ok(());
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(Name::as_str).collect();
    Err(StatementError::new(format!(
        "One or more parameter values were invalid: Secondary index {} does not project one or \
         more filter attributes: [{}]",
        index.name,
        names.join(", ")
    )))
}

fn check_order(select: &Select, schema: &KeySchema, is_keyed: bool) -> Result<(), StatementError> {
    if select.order.is_empty() {
        return Ok(());
    }
    if select.filter.is_none() {
        return Err(StatementError::new(
            "Must have WHERE clause in the statement when using ORDER BY clause.",
        ));
    }
    if let Some(term) = select.order.iter().find(|term| !schema.has(&term.attribute)) {
        return Err(StatementError::new(format!(
            "Attribute {} in ORDER BY clause must be part of the primary key",
            term.attribute
        )));
    }
    if !is_keyed {
        return Err(StatementError::new(
            "Must have at least one non-optional hash key condition in WHERE clause when using \
             ORDER BY clause.",
        ));
    }
    Ok(())
}

/// Puts the branches in the order of the statement. With an `ORDER BY` that does not name the sort
/// key, the service reads it backward.
fn arrange(
    branches: &mut [Branch],
    terms: &[Order],
    key: &Key<'_>,
) -> Result<Direction, StatementError> {
    if terms.is_empty() {
        return Ok(Direction::Forward);
    }
    let term = |name: &Name| terms.iter().find(|term| term.attribute == *name);
    let by_partition = term(&key.partition.name);
    let by_sort = key.sort.and_then(|sort| term(&sort.name));
    let differ = |pair: &[Branch]| pair[0].partition != pair[1].partition;
    if by_partition.is_none() && branches.windows(2).any(differ) {
        return Err(StatementError::new(
            "Must have hash key in ORDER BY clause when more than one hash key condition specified \
             in WHERE clause.",
        ));
    }
    let is_backward = by_sort.is_none_or(|term| term.is_descending);
    let directed = |order: Ordering, is_backward: bool| {
        if is_backward { order.reverse() } else { order }
    };
    branches.sort_by(|left, right| {
        let partitions = order(&left.partition, &right.partition);
        let is_descending = by_partition.is_some_and(|term| term.is_descending);
        let ranges = left.range.order(&right.range);
        directed(partitions, is_descending).then(directed(ranges, is_backward))
    });
    Ok(if is_backward { Direction::Backward } else { Direction::Forward })
}

fn order(left: &Value, right: &Value) -> Ordering {
    left.compare(right).unwrap_or(Ordering::Equal)
}
