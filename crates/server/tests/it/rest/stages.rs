//! Served models with data of two tenants, and requests to that data: generated from the model, for every
//! operation.

use keyloom::{Change, Db, Error, Item, Value};
use keyloom_model::{
    Entity, EntityId, FieldId, FieldOrigin, FieldType, IdSource, Limits, List, Model, PathPart,
    Ranking, Tenancy,
};
use keyloom_server::Route;
use keyloom_testkit::Random;
use keyloom_testkit::model::document;
use pollster::block_on;
use serde_json::{Value as Json, json};

use super::ask::Ask;
use super::served::{Door, Served, Setup};

/// Part of every text of the tenant whose data others must not see.
pub(crate) const MARK: &str = "victim's";

/// A served model with data in it.
pub(crate) struct Stage {
    pub(crate) served: Served,
    pub(crate) model: Model,
    /// The tenant whose data is requested, including shared data.
    pub(crate) victim: Party,
    /// Another tenant.
    pub(crate) stranger: Party,
}

/// A tenant and its data.
pub(crate) struct Party {
    /// Its name in a token.
    pub(crate) tenant: String,
    pub(crate) value: Value,
    pub(crate) things: Vec<Thing>,
}

/// An entity.
#[derive(Clone, Debug)]
pub(crate) struct Thing {
    pub(crate) entity: EntityId,
    pub(crate) id: String,
    pub(crate) document: Json,
}

impl Stage {
    /// Returns `None` if the model cannot have two tenants.
    pub(crate) fn build(text: &str, seed: u64) -> Option<Stage> {
        Stage::build_with(text, seed, Setup::new(Door::Closed))
    }

    /// As [`Stage::build`], with its own setup.
    pub(crate) fn build_with(text: &str, seed: u64, setup: Setup) -> Option<Stage> {
        let served = Served::start(text, setup);
        let (model, random) = (served.db.model(), &mut Random::new(seed));
        let shared = fill(&model, &served.db, &Whose::Shared, random);
        let [victim, stranger] = tenants(&model, &shared, random)?;
        let mut party = |tenant: Value, mark: &str| {
            let db = served.db.tenant(tenant.clone());
            let things = fill(&model, &db, &Whose::Tenant { shared: &shared, mark }, random);
            let text = match &tenant {
                Value::S(text) => text.clone(),
                other => other.to_string(),
            };
            Party { tenant: text, value: tenant, things }
        };
        let (victim, stranger) = (party(victim, MARK), party(stranger, ""));
        Some(Stage { model, victim, stranger, served })
    }

    pub(crate) fn is_shared(&self, entity: EntityId) -> bool {
        self.model.entity(entity).tenancy == Tenancy::Shared
    }

    /// All requests of a route to the entities of the victim.
    pub(crate) fn asks(&self, route: &Route) -> Vec<Ask> {
        match &route.entity {
            None => self.own_asks(route),
            Some(entity) => {
                let things = self.victim.things.iter();
                let of_route = things.filter(|t| self.model.entity(t.entity).name == *entity);
                of_route.flat_map(|thing| self.asks_about(route, thing)).collect()
            }
        }
    }

    /// Requests to routes without an entity.
    fn own_asks(&self, route: &Route) -> Vec<Ask> {
        let things = self.victim.things.iter();
        match route.name.as_str() {
            "transaction" => things.flat_map(|t| self.bulk(route, t, "changes")).collect(),
            "batch" => things.flat_map(|t| self.bulk(route, t, "requests")).collect(),
            "create_token" => vec![Ask::post(&route.path, &json!({"role": "admin"}))],
            "revoke_token" => {
                let tokens = block_on(self.served.tokens.list()).unwrap();
                tokens.iter().map(|token| Ask::delete(&format!("/tokens/{}", token.id))).collect()
            }
            _ => vec![Ask::new(&route.method, &route.path)],
        }
    }

    /// Requests to a route without an entity, for one entity.
    pub(crate) fn bulk(&self, route: &Route, thing: &Thing, list: &str) -> Vec<Ask> {
        let (entity, id) = (&self.model.entity(thing.entity).name, &thing.id);
        let document = self.given(thing);
        let mut parts = vec![
            json!({"update": entity, "id": id, "document": {}}),
            json!({"put": entity, "id": id, "document": document}),
            json!({"delete": entity, "id": id}),
        ];
        if list == "requests" {
            parts.push(json!({"get": entity, "id": id}));
        }
        let ask = |part: &Json| Ask::post(&route.path, &json!({ list: [part] }));
        parts.iter().map(ask).collect()
    }

    /// Requests to a route of the entity.
    pub(crate) fn asks_about(&self, route: &Route, thing: &Thing) -> Vec<Ask> {
        let entity = self.model.entity(thing.entity);
        let one = format!("{}/{{id}}", entity.path);
        let here = format!("{}/{}", entity.path, encoded(&thing.id));
        let mut made = self.given(thing);
        if let "PATCH" | "DELETE" = route.method.as_str()
            && route.path != one
        {
            let asks = questions(entity, route, thing).into_iter();
            return asks.map(|ask| of_all(&ask, route)).collect();
        }
        match (route.method.as_str(), route.path == one) {
            ("POST", _) => {
                if entity.id_source == IdSource::Given {
                    made["id"] = json!(thing.id);
                }
                vec![Ask::post(&route.path, &made)]
            }
            ("PUT", _) => vec![Ask::put(&here, &made)],
            ("PATCH", _) => vec![Ask::patch(&here, &json!({})), Ask::patch(&here, &made)],
            ("DELETE", _) => vec![Ask::delete(&here)],
            (_, true) => vec![Ask::get(&here)],
            (_, false) if route.path.contains("/{id}/with/") => {
                let parent = entity.fields.iter().find(|f| f.origin == FieldOrigin::Parent);
                let parent = text_of(&thing.document[&parent.unwrap().name]).unwrap();
                vec![Ask::get(&route.path.replace("{id}", &encoded(&parent)))]
            }
            (_, false) => questions(entity, route, thing),
        }
    }

    /// The document that a client would send: without id, version and tenant.
    fn given(&self, thing: &Thing) -> Json {
        let entity = self.model.entity(thing.entity);
        let mut document = thing.document.clone();
        let members = document.as_object_mut().unwrap();
        members.remove("id");
        members.remove("version");
        if let Tenancy::Own(field) = entity.tenancy {
            members.remove(&entity.field(field).name);
        }
        document
    }

    /// The same entity with ids that do not exist, also in references.
    pub(crate) fn that_never_was(&self, thing: &Thing) -> Thing {
        let mut other = thing.clone();
        other.id = never(&thing.id);
        for (_, field) in self.model.entity(thing.entity).fields() {
            let FieldType::Ref(target, _) = field.of else { continue };
            if let Some(id) = thing.document[&field.name].as_str()
                && !self.is_shared(target)
            {
                other.document[&field.name] = json!(never(id));
            }
        }
        other
    }
}

/// An id of the same length that does not exist.
fn never(id: &str) -> String {
    "q".repeat(id.len())
}

/// Requests to the lists, uniques, counts and leaderboards of a route, with the values of an entity.
fn questions(entity: &Entity, route: &Route, thing: &Thing) -> Vec<Ask> {
    let lists = entity.lists().filter(|(_, list)| answers(entity, list, route));
    let mut wanted: Vec<(Vec<FieldId>, String)> = lists
        .map(|(_, list)| {
            let facet = list.facets.first().map(|facet| entity.field(*facet).name.as_str());
            let path = route.path.replace("{facet}", facet.unwrap_or("none"));
            (list.by.clone(), path.replace("{key}", "a"))
        })
        .collect();
    if let Some(count) = route.name.strip_prefix(&format!("count_{}_", entity.name)) {
        let count = entity.find_count(count).map(|id| entity.count(id).by.clone());
        wanted.extend(count.map(|by| (by, route.path.clone())));
    }
    for board in &entity.boards {
        let (page, one) =
            (format!("/boards/{}", board.name), format!("/boards/{}/{{of}}", board.name));
        if route.path == page {
            wanted.push((board.by.clone(), page));
        } else if route.path == one {
            let of = match board.ranking {
                Ranking::Count(field) => text_of(&thing.document[&entity.field(field).name]),
                Ranking::Field(_) => Some(thing.id.clone()),
            };
            let of = of.filter(|of| !of.is_empty());
            let path = of.map(|of| one.replace("{of}", &encoded(&of)));
            return path
                .and_then(|path| question(entity, &path, (thing, &board.by)))
                .into_iter()
                .collect();
        }
    }
    if route.path == entity.path {
        let fields = |unique: &keyloom_model::Unique| {
            unique.within.iter().chain(&unique.fields).copied().collect()
        };
        wanted.extend(entity.uniques().map(|(_, unique)| (fields(unique), route.path.clone())));
    }
    wanted.iter().filter_map(|(fields, path)| question(entity, path, (thing, fields))).collect()
}

/// A request to change or delete all entities of a list, from one that reads the list.
fn of_all(ask: &Ask, route: &Route) -> Ask {
    let path = format!("{}&$all=true", ask.path).replace("?&", "?");
    match route.method.as_str() {
        "PATCH" => Ask::patch(&path, &json!({})),
        _ => Ask::delete(&path),
    }
}

/// Whether a route returns a list, or counts values in one.
fn answers(entity: &Entity, list: &List, route: &Route) -> bool {
    let tags = entity.tag_fields().map(|field| entity.field(field).name.as_str());
    let words: Vec<&str> = ["facets", "tags"].into_iter().chain(tags).collect();
    let paths = [path_of(entity, list), format!("{}/lists/{}", entity.path, list.name)];
    let mut rests = paths.iter().filter_map(|path| route.path.strip_prefix(path.as_str()));
    rests.any(|rest| {
        let mut segments = rest.split('/').skip(1);
        let (word, last) = (segments.next(), segments.next());
        let is_counted = word.is_some_and(|word| words.contains(&word));
        rest.is_empty() || is_counted && [None, Some("{facet}"), Some("{key}")].contains(&last)
    })
}

fn question(entity: &Entity, path: &str, (thing, fields): (&Thing, &[FieldId])) -> Option<Ask> {
    let (mut path, mut query) = (path.to_owned(), vec![]);
    for field in fields {
        let name = &entity.field(*field).name;
        let text = text_of(&thing.document[name]).filter(|text| !text.is_empty())?;
        let place = format!("{{{name}}}");
        match path.contains(&place) {
            true => path = path.replace(&place, &encoded(&text)),
            false => query.push(format!("{name}=={}", encoded(&text))),
        }
    }
    Some(Ask::get(&format!("{path}?{}", query.join("&"))))
}

fn path_of(entity: &Entity, list: &List) -> String {
    let part = |part: &PathPart| match part {
        PathPart::Text(text) => format!("/{text}"),
        PathPart::Field(field) => format!("/{{{}}}", entity.field(*field).name),
    };
    match &list.path {
        Some(parts) => parts.iter().map(part).collect(),
        None => format!("{}/lists/{}", entity.path, list.name),
    }
}

fn text_of(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

pub(crate) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Whose entities are created.
enum Whose<'s> {
    /// Those that all tenants share.
    Shared,
    /// Those of one tenant, which may refer to shared ones. Their texts are marked.
    Tenant { shared: &'s [Thing], mark: &'s str },
}

/// Creates entities of every kind that they can have.
fn fill(model: &Model, db: &Db, whose: &Whose<'_>, random: &mut Random) -> Vec<Thing> {
    let (mut things, mark, are_shared) = match whose {
        Whose::Shared => (vec![], "", true),
        Whose::Tenant { shared, mark } => (shared.to_vec(), *mark, false),
    };
    for (id, entity) in model.entities() {
        let is_shared = entity.tenancy == Tenancy::Shared;
        for number in 0..if is_shared == are_shared { 3 } else { 0 } {
            let ids = |kind| ids_of(&things, kind);
            let mut draw = || {
                let mut item = document((model, id), &ids, random)?;
                prepare(entity, &mut item, (mark, number));
                let change = Change::create_item(&entity.name, entity.to_external(&item));
                match block_on(db.transact(vec![change])) {
                    Ok(mut made) => made.pop().flatten(),
                    // Values can collide, or be null: draw others. If the tenant of one kind is a
                    // text and that of another a reference, no entity may have its id.
                    Err(
                        Error::UniqueViolation { .. }
                        | Error::Fields { .. }
                        | Error::TargetGone { .. },
                    ) => None,
                    Err(error) => panic!("{error}"),
                }
            };
            let Some(record) = (0..20).find_map(|_| draw()) else { continue };
            let document = serde_json::from_str(&record.to_json()).unwrap();
            things.push(Thing { entity: id, id: record.id().to_owned(), document });
        }
    }
    things
}

pub(crate) fn ids_of(things: &[Thing], kind: EntityId) -> Vec<String> {
    things.iter().filter(|thing| thing.entity == kind).map(|thing| thing.id.clone()).collect()
}

/// Marks the texts of a document, and makes it never expire.
fn prepare(entity: &Entity, item: &mut Item, (mark, number): (&str, usize)) {
    for (id, field) in entity.fields() {
        if entity.tenancy == Tenancy::Own(id) {
            item.remove(&field.name);
        } else if entity.expires == Some(id) {
            item.insert(field.name.as_str(), 4_102_444_800_000_i64);
        } else if let FieldType::Text(Limits { low: None | Some(0..=9), high: None | Some(20..) }) =
            field.of
            && field.origin == FieldOrigin::Declared
            && entity.format_rule(id).is_none()
            && !mark.is_empty()
        {
            item.insert(field.name.as_str(), format!("{mark} {number}"));
        }
    }
    if entity.id_source == IdSource::Given {
        item.insert("id", format!("{}-{number}", if mark.is_empty() { "own" } else { "secret" }));
    }
}

/// Two tenants that are valid for every kind of the model.
fn tenants(model: &Model, shared: &[Thing], random: &mut Random) -> Option<[Value; 2]> {
    let own = model.entities().filter_map(|(id, entity)| match entity.tenancy {
        Tenancy::Own(field) => Some((id, entity.field(field))),
        Tenancy::Shared | Tenancy::Inherited(_) => None,
    });
    let own: Vec<_> = own.collect();
    let Some((entity, field)) = own.first() else {
        return Some([Value::from("acme"), Value::from("other")]);
    };
    let ids = |kind| match ids_of(shared, kind) {
        ids if ids.is_empty() => vec!["nothing".to_owned()],
        ids => ids,
    };
    let mut found: Vec<Value> = vec![];
    for _ in 0..100 {
        let drawn = document((model, *entity), &ids, random);
        let Some(tenant) = drawn.and_then(|item| item.get(&field.name).cloned()) else { continue };
        let fits = own.iter().all(|(_, field)| field.check(&tenant).is_ok());
        if fits && !found.contains(&tenant) {
            found.push(tenant);
        }
    }
    let mut found = found.into_iter();
    Some([found.next()?, found.next()?])
}
