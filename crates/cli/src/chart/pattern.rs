//! Access patterns: every read that a model supports, with the keys that serve it.

use keyloom_model::{
    Board, BoardId, Count, CountId, Entity, EntityId, FieldId, KeyTemplate, Layout, List, PathPart,
    Ranking, Reason, Unique,
};

use super::cost::{self, Cost};
use super::notation;

/// An access pattern.
pub(super) struct Pattern {
    /// A description, such as `find by name`.
    pub(super) query: String,
    /// The HTTP request.
    pub(super) request: String,
    pub(super) access: Access,
    /// The write units that it adds to the creation of an entity; none if it needs no rows of its own, or
    /// shares them with others.
    pub(super) keeps: Option<f64>,
}

/// How a pattern reads its rows.
pub(super) enum Access {
    /// By keys of the table or an index.
    Keys(KeyAccess),
    /// By intersecting posting lists.
    Sets,
    /// Not at all: the layout has no row for it.
    Missing,
}

impl Access {
    fn keys(keys: Option<KeyAccess>) -> Access {
        keys.map_or(Access::Missing, Access::Keys)
    }

    /// The text that takes the place of keys.
    pub(super) fn note(&self) -> &'static str {
        match self {
            Access::Keys(_) => "",
            Access::Sets => "posting lists, intersected",
            Access::Missing => "declared, not stored",
        }
    }
}

/// The keys that a pattern reads, and what that costs.
pub(super) struct KeyAccess {
    /// The attribute that is the partition key, and the parts of its value.
    pub(super) partition: (String, String),
    /// The attribute that is the sort key, and the parts of its value.
    pub(super) sort: (String, String),
    pub(super) cost: Cost,
}

/// All access patterns of an entity.
pub(super) fn patterns(layout: &Layout, id: EntityId) -> Vec<Pattern> {
    let entity = layout.model().entity(id);
    let of = Patterns { layout, id, entity };
    let mut patterns = vec![of.get()];
    patterns.extend(entity.uniques().map(|(unique, declared)| of.unique(unique, declared)));
    patterns.extend(of.with_children());
    for (list, declared) in entity.lists() {
        patterns.push(of.list(list, declared));
        patterns.extend(of.facets(list, declared));
    }
    patterns.extend(of.tags());
    patterns.extend(entity.counts().map(|(id, count)| of.count(id, count)));
    patterns.extend(entity.boards().map(|(id, board)| of.board(id, board)));
    patterns
}

/// Derives the patterns of one entity.
struct Patterns<'l> {
    layout: &'l Layout,
    id: EntityId,
    entity: &'l Entity,
}

impl Patterns<'_> {
    fn get(&self) -> Pattern {
        let keys = self.row(Reason::Own).map(|template| self.in_table(&template, cost::GET));
        let request = format!("GET {}/{{id}}", self.entity.path);
        let keeps = Some(cost::kept(self.layout, self.id, 1));
        Pattern { query: "get by id".to_owned(), request, access: Access::keys(keys), keeps }
    }

    fn unique(&self, id: keyloom_model::UniqueId, unique: &Unique) -> Pattern {
        let names: Vec<&str> =
            unique.within.iter().chain(&unique.fields).map(|field| self.name(*field)).collect();
        let asked: Vec<String> = names.iter().map(|name| format!("{name}=…")).collect();
        let template = self.row(Reason::Guard(id));
        Pattern {
            query: format!("find by {}", names.join(", ")),
            request: format!("GET {}?{}", self.entity.path, asked.join("&")),
            access: Access::keys(template.map(|template| self.in_table(&template, cost::FIND))),
            keeps: Some(cost::kept(self.layout, self.id, 1)),
        }
    }

    /// The entity with all of its children, and with those of each kind.
    fn with_children(&self) -> Vec<Pattern> {
        let model = self.layout.model();
        let children = self.layout.references().to(self.id).iter();
        let children: Vec<&Entity> = children
            .filter(|link| model.entity(link.owner).parent == Some(link.field))
            .map(|link| model.entity(link.owner))
            .collect();
        let Some(own) = self.row(Reason::Own) else { return vec![] };
        let pattern = |kinds: &[&Entity], sort: String| {
            let names: Vec<&str> = kinds.iter().map(|child| child.name.as_str()).collect();
            let relations = model.children(self.id).into_iter();
            let relations: Vec<String> = relations
                .filter(|(_, kind)| names.contains(&model.entity(*kind).name.as_str()))
                .map(|(relation, _)| relation)
                .collect();
            let is_adjacent = kinds.len() == children.len();
            let mut keys = self.in_table(&own, cost::with_children(is_adjacent));
            keys.sort.1 = sort;
            Pattern {
                query: format!("with each {}", names.join(" and ")),
                request: format!("GET {}/{{id}}?with={}", self.entity.path, relations.join(",")),
                access: Access::Keys(keys),
                keeps: None,
            }
        };
        let mut patterns = vec![];
        if !children.is_empty() {
            patterns.push(pattern(&children, "0 to 1 …".to_owned()));
        }
        if children.len() > 1 {
            patterns.extend(
                children.iter().map(|child| pattern(&[child], format!("1 {} …", child.name))),
            );
        }
        patterns
    }

    fn list(&self, id: keyloom_model::ListId, list: &List) -> Pattern {
        let template = self.layout.templates().list(self.id, id);
        let own = self.row(Reason::Own);
        let cost = own.map(|own| cost::list_page(&template, &own, self.entity));
        let slot = self.layout.lists().slot(self.id, id);
        let (partition, sort) = self.keys(&template);
        let order: Vec<&str> = list.order.iter().map(|order| self.name(order.field)).collect();
        let order = match order.is_empty() {
            true if self.entity.has_ordinals() => ", in order of creation".to_owned(),
            true => ", by id".to_owned(),
            false => format!(", ranges of {}", order.join(", ")),
        };
        let filter = notation::filter(&list.filter, self.entity);
        Pattern {
            query: format!("list {}{filter}{order}", list.name),
            request: self.list_request(list),
            access: Access::keys(cost.map(|cost| KeyAccess {
                partition: (slot.partition().as_str().to_owned(), partition),
                sort: (slot.sort().as_str().to_owned(), sort),
                cost,
            })),
            keeps: Some(cost::kept(self.layout, self.id, 1)),
        }
    }

    /// A page of a list by facets: of one combination of their values, and what each further one adds.
    fn facets(&self, id: keyloom_model::ListId, list: &List) -> Vec<Pattern> {
        let names: Vec<&str> = list.facets.iter().map(|field| self.name(*field)).collect();
        let (templates, facets) = (self.layout.templates(), self.layout.facets());
        let (Some(template), Some(slot), Some(own)) =
            (templates.facet(self.id, id), facets.slot(self.id, id), self.row(Reason::Own))
        else {
            return vec![];
        };
        let (partition, sort) = self.keys(&template);
        let pattern = |query: &str, values: &str, cost: Cost| {
            let asked: Vec<String> = names.iter().map(|name| format!("{name}={values}")).collect();
            Pattern {
                query: format!("list {} filtered by {}{query}", list.name, names.join(", ")),
                request: with_parameters(self.list_request(list), &asked),
                access: Access::Keys(KeyAccess {
                    partition: (slot.partition().as_str().to_owned(), partition.clone()),
                    sort: (slot.sort().as_str().to_owned(), sort.clone()),
                    cost,
                }),
                keeps: None,
            }
        };
        let first = pattern("", "…", cost::list_page(&template, &own, self.entity));
        let keeps = Some(cost::kept(self.layout, self.id, 1));
        let further = cost::index_page(&template, &own, self.entity);
        let further = pattern(", each further combination", "…,…", further);
        vec![Pattern { keeps, ..first }, further]
    }

    fn tags(&self) -> Vec<Pattern> {
        let fields = self.entity.fields.iter();
        let fields = fields.filter(|field| matches!(field.of, keyloom_model::FieldType::Tags));
        let all = fields.map(|field| Pattern {
            query: format!("filter by {}", field.name),
            request: format!("GET {}?tag=key:value&tag=…", self.entity.path),
            access: Access::Sets,
            keeps: None,
        });
        let combined = self.entity.combinations.iter().map(|combination| Pattern {
            query: format!("filter by {} combined", combination.keys.join(", ")),
            request: {
                let tags: Vec<String> =
                    combination.keys.iter().map(|key| format!("tag={key}:…")).collect();
                format!("GET {}?{}", self.entity.path, tags.join("&"))
            },
            access: Access::Sets,
            keeps: None,
        });
        all.chain(combined).collect()
    }

    fn count(&self, id: CountId, count: &Count) -> Pattern {
        let names = |fields: &[FieldId]| {
            fields.iter().map(|field| self.name(*field)).collect::<Vec<_>>().join(", ")
        };
        let by =
            if count.by.is_empty() { String::new() } else { format!(" by {}", names(&count.by)) };
        let split = match count.split.is_empty() {
            true => String::new(),
            false => format!(", each {}", names(&count.split)),
        };
        let filter = notation::filter(&count.filter, self.entity);
        let asked: Vec<String> =
            count.split.iter().map(|field| format!("{}=…", self.name(*field))).collect();
        let request = match &count.path {
            Some(path) => self.request(path, &count.by),
            None => format!("GET {}/counts/{}", self.entity.path, count.name),
        };
        let template = self.layout.templates().count(self.id, id);
        Pattern {
            query: format!("count {}{by}{split}{filter}", count.name),
            request: with_parameters(request, &asked),
            access: Access::Keys(self.in_table(&template, cost::count(count))),
            keeps: Some(cost::kept(self.layout, self.id, count.counters() as u64)),
        }
    }

    fn board(&self, id: BoardId, board: &Board) -> Pattern {
        let of = match board.ranking {
            Ranking::Count(field) => {
                format!("number of {} by {}", self.entity.name, self.name(field))
            }
            Ranking::Field(field) => self.name(field).to_owned(),
        };
        let filter = notation::filter(&board.filter, self.entity);
        let asked: Vec<String> =
            board.by.iter().map(|field| format!("{}=…", self.name(*field))).collect();
        let template = self.layout.templates().board(self.id, id);
        let slot = self.layout.leaderboards().slot(self.id, id);
        let (partition, sort) = self.keys(&template);
        Pattern {
            query: format!("rank by {of}{filter}"),
            request: with_parameters(format!("GET /boards/{}", board.name), &asked),
            access: Access::Keys(KeyAccess {
                partition: (slot.partition().as_str().to_owned(), partition),
                sort: (slot.sort().as_str().to_owned(), sort),
                cost: cost::BOARD_PAGE,
            }),
            keeps: Some(cost::kept(self.layout, self.id, cost::BOARD_COUNTERS)),
        }
    }

    /// The request of a list: its path, and the fields of `by` that the path lacks.
    fn list_request(&self, list: &List) -> String {
        let Some(path) = &list.path else { return format!("list `{}`", list.name) };
        self.request(path, &list.by)
    }

    fn request(&self, path: &[PathPart], by: &[FieldId]) -> String {
        let part = |part: &PathPart| match part {
            PathPart::Text(text) => text.clone(),
            PathPart::Field(field) => format!("{{{}}}", self.name(*field)),
        };
        let parts: Vec<String> = path.iter().map(part).collect();
        let in_path = |field: &&FieldId| !path.contains(&PathPart::Field(**field));
        let rest = by.iter().filter(in_path);
        let rest: Vec<String> = rest.map(|field| format!("{}=…", self.name(*field))).collect();
        with_parameters(format!("GET /{}", parts.join("/")), &rest)
    }

    fn row(&self, reason: Reason) -> Option<KeyTemplate> {
        let templates = self.layout.templates().rows(self.id);
        templates.into_iter().find(|(other, _)| *other == reason).map(|(_, template)| template)
    }

    fn in_table(&self, template: &KeyTemplate, cost: Cost) -> KeyAccess {
        let (partition, sort) = self.keys(template);
        KeyAccess { partition: ("PK".to_owned(), partition), sort: ("SK".to_owned(), sort), cost }
    }

    fn keys(&self, template: &KeyTemplate) -> (String, String) {
        let model = self.layout.model();
        let key = |parts| notation::key(parts, self.entity, model);
        (key(&template.partition), key(&template.sort))
    }

    fn name(&self, field: FieldId) -> &str {
        &self.entity.field(field).name
    }
}

fn with_parameters(request: String, parameters: &[String]) -> String {
    match (parameters.is_empty(), request.contains('?')) {
        (true, _) => request,
        (false, true) => format!("{request}&{}", parameters.join("&")),
        (false, false) => format!("{request}?{}", parameters.join("&")),
    }
}
