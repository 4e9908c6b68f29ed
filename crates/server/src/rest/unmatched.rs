//! Why the parameters of a request match no list and no unique value of its path, and which ones
//! would. Explains only: `keyloom_query::Candidates` decides what matches.

use keyloom_model::{Entity, FieldId, FieldType};
use keyloom_query::{Comparison, Condition};

use super::call::{bad_parameter, cut, quoted, unknown_parameter};
use super::explain::EXPLAIN;
use super::parameters::{comparison, operator};
use super::path_queries::{PathQueries, Wanted};
use super::problem::Problem;
use super::reserved::{TOTAL, name_for, shown};

impl PathQueries {
    /// Why no query of this path takes a parameter; `known` are those that one of them takes.
    pub(super) fn unusable(
        &self,
        entity: &Entity,
        (name, text): (&str, &str),
        known: &[&str],
    ) -> Problem {
        let known = known.iter().chain(&[EXPLAIN]);
        let known: Vec<&str> = known.map(|name| name_for(name, entity)).collect();
        let field = entity.find_field(name);
        if field.is_some_and(|field| self.in_path.contains(&field)) {
            let detail = format!("The path already contains `{name}`: omit the parameter.");
            return bad_parameter(detail);
        }
        if name == TOTAL && self.wanted == Wanted::Page && !entity.has_ordinals() {
            return bad_parameter(format!(
                "`{}` requires tags, facets, `filters` or a search, and `{}` has none: omit it.",
                shown(TOTAL),
                entity.name
            ));
        }
        let name = name_for(name, entity);
        if keyloom_model::nearest(name, &known).is_some() {
            return unknown_parameter(name, &known);
        }
        if field.is_some() {
            return bad_parameter(format!(
                "This request cannot filter by the field `{name}`: it takes {}.",
                quoted(&known)
            ));
        }
        let unknown = unknown_parameter(name, &known);
        let Some((tag, _)) = self.tags(entity).into_iter().next() else { return unknown };
        let range = match comparison(text).0 {
            Comparison::Equal | Comparison::Present | Comparison::Absent => "",
            Comparison::Less | Comparison::AtMost | Comparison::More | Comparison::AtLeast => {
                " Tags match exact values, not ranges."
            }
        };
        bad_parameter(format!(
            "{} To filter by a tag, write `{tag}={}:VALUE`.{range}",
            unknown.detail(),
            cut(name)
        ))
    }

    /// Why parameters that are known one by one match no list and no unique value together.
    pub(super) fn unmatched(&self, entity: &Entity, given: &[Condition]) -> Problem {
        let is_in_path = |bound: &Condition| self.in_path.contains(&bound.field);
        let given: Vec<&Condition> = given.iter().filter(|bound| !is_in_path(bound)).collect();
        let is_presence = |bound: &&&Condition| {
            matches!(bound.comparison, Comparison::Present | Comparison::Absent)
        };
        if let Some(bound) =
            given.iter().filter(is_presence).find(|b| !entity.filters.contains(&b.field))
        {
            return no_presence(entity, bound);
        }
        let is_ordered = |bound: &&Condition| self.ranged(entity).contains(&bound.field);
        let unordered = || given.iter().copied().filter(|bound| !is_ordered(bound));
        if let Some(bound) = unordered().find(|bound| bound.comparison != Comparison::Equal) {
            return self.no_range(entity, bound);
        }
        let facets = self.facets(entity);
        let is_facet = |bound: &Condition| facets.contains(&bound.field);
        let same =
            |bound: &&Condition| given.iter().filter(|other| other.field == bound.field).count();
        if let Some(twice) = unordered().find(|bound| !is_facet(bound) && same(bound) > 1) {
            let name = &entity.field(twice.field).name;
            return bad_parameter(format!("`{name}` takes one value here: give it once."));
        }
        let mut names: Vec<&str> =
            given.iter().map(|bound| entity.field(bound.field).name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        self.no_combination(entity, &names)
    }

    /// A comparison with a field that no list of this path takes a range of.
    fn no_range(&self, entity: &Entity, bound: &Condition) -> Problem {
        let field = entity.field(bound.field);
        let (name, sign) = (&field.name, operator(bound.comparison));
        let is_facet = self.facets(entity).contains(&bound.field);
        let values = if is_facet { "VALUE,VALUE" } else { "VALUE" };
        let ranges = match &self.names(entity, &self.ranged(entity))[..] {
            [] => "No parameter of this path takes a range.".to_owned(),
            [only] => format!("Only `{only}` takes a range here."),
            several => format!("Only {} take a range here.", quoted(several)),
        };
        let is_text = matches!(field.of, FieldType::Text(_));
        // A text may begin with an operator.
        let escape = match is_text {
            true => format!(" If the value begins with `{sign}`, write `{name}=={sign}…`."),
            false => String::new(),
        };
        bad_parameter(format!(
            "`{name}` takes exact values here, not a range: write `{name}={values}` instead of \
             `{name}={sign}…`. {ranges}{escape}"
        ))
    }

    /// No query of this path takes exactly these fields.
    fn no_combination(&self, entity: &Entity, names: &[&str]) -> Problem {
        let ways = self.ways(entity).join("; or ");
        let (name, path) = (&entity.name, &entity.path);
        bad_parameter(match names {
            [] if self.lists.is_empty() => {
                format!(
                    "`{path}` has no list: to find one `{name}` by a unique value, give {ways}."
                )
            }
            [] => format!("This path needs parameters: give {ways}."),
            [only] => {
                format!("No list or unique value of `{name}` takes `{only}` alone: give {ways}.")
            }
            several => format!(
                "No list or unique value of `{name}` takes {} together: give {ways}.",
                quoted(several)
            ),
        })
    }

    /// What each list and each unique value of this path takes, without repetition.
    fn ways(&self, entity: &Entity) -> Vec<String> {
        let (tags, searches) = (self.tags(entity), self.searches(entity));
        let lists = self.lists.iter().map(|id| {
            let list = entity.list(*id);
            let orders = list.order.iter().map(|order| order.field);
            let orders = orders.filter(|_| self.wanted == Wanted::Page);
            let fields = orders.chain(list.facets.iter().chain(&entity.filters).copied());
            let fields: Vec<FieldId> = fields.collect();
            let mut optional = self.names(entity, &fields);
            optional.extend(tags.iter().map(|(name, _)| *name));
            optional.extend(searches.iter().map(|(name, _)| name_for(name, entity)));
            match (&self.names(entity, &list.by)[..], &optional[..]) {
                ([], []) => "no fields".to_owned(),
                ([], optional) => format!("any of {}", quoted(optional)),
                (required, []) => quoted(required),
                (required, optional) => {
                    let required = quoted(required);
                    format!("{required}, optionally with {}", quoted(optional))
                }
            }
        });
        let uniques = self.uniques.iter().map(|id| {
            let unique = entity.unique(*id);
            let fields: Vec<FieldId> =
                unique.within.iter().chain(&unique.fields).copied().collect();
            quoted(&self.names(entity, &fields))
        });
        let mut ways: Vec<String> = vec![];
        for way in lists.chain(uniques) {
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        ways
    }

    /// The fields that take a range: those that a list of this path is ordered by, and those that every
    /// list can be filtered by.
    fn ranged(&self, entity: &Entity) -> Vec<FieldId> {
        let orders = self.lists.iter().flat_map(|list| &entity.list(*list).order);
        let orders = orders.map(|order| order.field).filter(|_| self.wanted == Wanted::Page);
        let filters = entity.filters.iter().filter(|_| !self.lists.is_empty()).copied();
        orders.chain(filters.filter(|field| entity.is_range_filter(*field))).collect()
    }

    /// The names of fields that the path does not give, each once.
    fn names<'e>(&self, entity: &'e Entity, fields: &[FieldId]) -> Vec<&'e str> {
        let mut names: Vec<&str> = vec![];
        for field in fields.iter().filter(|field| !self.in_path.contains(field)) {
            let name = entity.field(*field).name.as_str();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// A question whether a field has a value, which no list is filtered by.
fn no_presence(entity: &Entity, bound: &Condition) -> Problem {
    let (name, entity) = (&entity.field(bound.field).name, &entity.name);
    let text = if bound.comparison == Comparison::Present { "*" } else { "!*" };
    bad_parameter(format!(
        "`{name}={text}` asks whether there is a value of `{name}`, and lists of `{entity}` cannot be \
         filtered by that: the model has to declare `{name}` in `filters`. To look for the text \
         `{text}`, write `{name}=={text}`."
    ))
}
