//! Random queries of a served model: every `GET` route about an entity, with values that entities have and any
//! of the parameters that such a route takes. Many are refused: a query is one that is answered.

use keyloom_model::{Entity, EntityId, Field, FieldType};
use keyloom_server::Route;
use keyloom_testkit::Random;
use serde_json::Value as Json;

use super::ask::Ask;
use super::stages::{Stage, Thing, encoded};

/// A path with parameters that is answered to whoever has a token, about one of these entities.
pub(super) fn draw(
    stage: &Stage,
    things: &[Thing],
    token: &str,
    random: &mut Random,
) -> Option<String> {
    if things.is_empty() {
        return None;
    }
    let thing = random.pick(things);
    let entity = stage.model.entity(thing.entity);
    let is_about =
        |route: &&Route| route.method == "GET" && route.entity.as_ref() == Some(&entity.name);
    let routes: Vec<&Route> = stage.served.routes.iter().filter(is_about).collect();
    let route = *random.pick(&routes);
    let asks = stage.asks_about(route, thing);
    if asks.is_empty() {
        return None;
    }
    let path = random.pick(&asks).path.clone();
    let options = Options { stage, entity, thing }.of(route, random);
    let mut chosen = random.some_of(&options, 3);
    if random.chance(1, 2) {
        chosen.push(format!("$limit={}", random.pick(&[1, 2, 3, 100])));
    }
    // Often too many, or such that exclude each other.
    (0..=chosen.len()).find_map(|left_out| {
        let path = with_parameters(&path, &chosen[left_out..]);
        let page = answer(stage, &path, token)?;
        let next = page["next"].as_str().filter(|_| random.chance(1, 2));
        let following = next.map(|next| with_parameters(&path, &[format!("$cursor={next}")]));
        let is_answered = |path: &String| answer(stage, path, token).is_some();
        Some(following.filter(is_answered).unwrap_or(path))
    })
}

fn answer(stage: &Stage, path: &str, token: &str) -> Option<Json> {
    let answer = stage.served.ask(&Ask::get(path).bearer(token));
    assert!(answer.status < 500 || answer.status == 503, "{path}: {}", answer.outcome());
    (answer.status == 200).then(|| answer.json())
}

fn with_parameters(path: &str, parameters: &[String]) -> String {
    let sign = if path.contains('?') { '&' } else { '?' };
    match parameters {
        [] => path.to_owned(),
        parameters => format!("{path}{sign}{}", parameters.join("&")),
    }
}

/// The parameters that a query about an entity can have.
struct Options<'s> {
    stage: &'s Stage,
    entity: &'s Entity,
    thing: &'s Thing,
}

impl Options<'_> {
    fn of(&self, route: &Route, random: &mut Random) -> Vec<String> {
        let mut all = vec![];
        let name = route.name.as_str();
        if name.starts_with("count_") && !name.starts_with("count_values") {
            all.extend(self.of_counts(random));
        }
        if name.starts_with("board_") || name.starts_with("rank_") {
            all.push("with=of".to_owned());
            all.push(format!("around={}", encoded(&self.thing.id)));
            return all;
        }
        all.extend(self.parts(random));
        if name.starts_with("read_") {
            return all;
        }
        all.extend(["$reverse=true", "$total=true", "$total=true", "$prefix=a"].map(str::to_owned));
        all.extend(self.entity.fields.iter().flat_map(|field| self.of_field(field, random)));
        if !self.entity.searches.is_empty() {
            let words = random.pick(&["a", "t", "two%20w", "words%20"]);
            all.extend([format!("$q={words}"), format!("$q={words}")]);
        }
        all
    }

    fn of_counts(&self, random: &mut Random) -> Vec<String> {
        let counts = self.entity.counts.iter();
        let split = counts.flat_map(|count| &count.split);
        let name = |field| format!("split={}", self.entity.field(field).name);
        let mut all: Vec<String> = split.copied().map(name).collect();
        if self.entity.counts.iter().any(|count| count.window.is_some()) {
            let window = random.pick(&["..", "1970-01-01T00:00:00Z..", "..2000-01-01T00:00:00Z"]);
            all.extend([format!("window={window}"), "window=..&fill=true".to_owned()]);
        }
        all
    }

    /// Parts of entities, and what is read together with them.
    fn parts(&self, random: &mut Random) -> Vec<String> {
        let fields: Vec<&str> = self.entity.fields.iter().map(|f| f.name.as_str()).collect();
        let mut all = vec![format!("$fields={}", random.some_of(&fields, 3).join(","))];
        let related = self.stage.model.related(self.thing.entity);
        all.extend(related.iter().map(|(name, _)| format!("with={name}")));
        all
    }

    /// Values, ranges and presence of a field, also several values, and none of them.
    fn of_field(&self, field: &Field, random: &mut Random) -> Vec<String> {
        let name = &field.name;
        let value = &self.thing.document[name];
        if let (FieldType::Tags, Json::Object(tags)) = (&field.of, value) {
            let fields = self.entity.tag_fields().count();
            let parameter = if fields == 1 { "tag" } else { name };
            let tags = tags.iter().flat_map(|(key, value)| {
                let (key, value) = (escaped(key), escaped(value.as_str().unwrap_or_default()));
                let not = random.pick(&["", "", "!"]);
                [
                    format!("{parameter}={}", encoded(&format!("{not}{key}:{value}"))),
                    format!("{parameter}={}", encoded(&format!("{not}{key}:{value}|a|b"))),
                    format!("{parameter}={}", encoded(&format!("{not}{key}:*"))),
                ]
            });
            return tags.collect();
        }
        let mut all = vec![format!("{name}=*"), format!("{name}=!*")];
        let text = match value {
            Json::String(text) => text.clone(),
            Json::Number(number) => number.to_string(),
            Json::Bool(is_true) => is_true.to_string(),
            Json::Null | Json::Array(_) | Json::Object(_) => return all,
        };
        for sign in ["=", ">=", "<", ">", "<="] {
            all.push(format!("{name}={}", encoded(&format!("{sign}{text}"))));
        }
        if let FieldType::Enum(members) = &field.of {
            let some = random.some_of(members, 3).join(",");
            all.extend([
                format!("{name}={}", encoded(&some)),
                format!("{name}={}", encoded(&some)),
            ]);
        }
        all
    }
}

/// A key or a value of tags, meant as it is.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        if matches!(character, '\\' | '|' | '*' | ':' | '!') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// The kinds of what a path is about, so that a test can tell that all of them are there.
pub(super) fn kinds(path: &str) -> Vec<&'static str> {
    let is_in = |part: &&'static str| path.contains(*part);
    let parts =
        ["/boards/", "/facets", "/tags", "count", "cursor=", "with=", "$q=", "tag=", "$total"];
    parts.into_iter().filter(is_in).collect()
}

/// The names of fields that say something else in responses.
pub(super) const MISLEADING: [&str; 6] = ["items", "count", "next", "total", "score", "value"];

/// The kinds of a model that have a tenant, or those that all share.
pub(super) fn kinds_of(stage: &Stage, are_shared: bool) -> Vec<EntityId> {
    let all = stage.model.entities().map(|(id, _)| id);
    all.filter(|id| stage.is_shared(*id) == are_shared).collect()
}
