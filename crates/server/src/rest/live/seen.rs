//! What a query returned at a moment, in parts that can be compared.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::json_parts::{elements, members};

/// Members of items that are measured: what is measured identifies an item that has no id.
const MEASURES: [&str; 8] = ["count", "sum", "average", "min", "max", "rank", "score", "with"];

/// The member of a page with its items.
const ITEMS: &str = "items";

/// Between the position and the hash in an id.
const SEPARATOR: char = '.';

/// What a result is made of.
type Parts = (Shape, Vec<Arc<Item>>, Vec<(String, String)>);

/// What a query returned.
#[derive(Debug)]
pub(super) struct Seen {
    /// The position of the last change that it contains.
    pub(super) position: String,
    /// Identifies it: the position, and a hash of what is shown.
    pub(super) id: String,
    pub(super) shape: Shape,
    pub(super) items: Vec<Arc<Item>>,
    /// The members of the body besides `items`, as JSON.
    pub(super) members: Vec<(String, String)>,
}

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Shape {
    /// It has `items`.
    Page,
    /// It is one item, or nothing.
    One,
    /// It has other members only.
    Numbers,
}

/// An item of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// What stays the same when the item changes.
    pub(super) identity: String,
    /// Its id, as JSON, if it has one.
    pub(super) id: Option<String>,
    pub(super) json: String,
    /// A hash of the JSON, which decides the rest.
    hash: u64,
}

impl Seen {
    /// Takes a body apart that is not one entity. Items that are as they were before are shared, and not parsed
    /// again.
    pub(super) fn new(position: String, body: &str, before: Option<&Seen>) -> Seen {
        let mut parts = members(body);
        let items = parts.iter().position(|(name, _)| *name == ITEMS);
        let earlier = Earlier::new(before.map_or(&[], |before| &before.items));
        let (shape, items) = match items.map(|at| parts.remove(at).1) {
            Some(items) => {
                let elements = elements(items).into_iter().enumerate();
                (Shape::Page, elements.map(|(at, json)| earlier.item(at, json)).collect())
            }
            None => (Shape::Numbers, vec![]),
        };
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Seen::of(position, (shape, items, parts.into_iter().map(owned).collect()))
    }

    /// One entity, whatever its fields are called.
    pub(super) fn one(position: String, body: &str) -> Seen {
        Seen::of(position, (Shape::One, vec![Arc::new(Item::new(body))], vec![]))
    }

    /// The one item is gone.
    pub(super) fn nothing(position: String) -> Seen {
        Seen::of(position, (Shape::One, vec![], vec![]))
    }

    fn of(position: String, parts: Parts) -> Seen {
        let mut hasher = DefaultHasher::new();
        parts.hash(&mut hasher);
        let (shape, items, members) = parts;
        let id = format!("{position}{SEPARATOR}{:016x}", hasher.finish());
        Seen { position, id, shape, items, members }
    }

    /// Whether an id is one of this result, or of an equal one at another position.
    pub(super) fn is_shown_by(&self, id: &str) -> bool {
        let hash = |id: &str| id.rsplit_once(SEPARATOR).map(|(_, hash)| hash.to_owned());
        hash(id).is_some() && hash(id) == hash(&self.id)
    }

    /// The body.
    pub(super) fn body(&self) -> String {
        let items: Vec<&str> = self.items.iter().map(|item| item.json.as_str()).collect();
        let items = items.join(",");
        let mut members = self.members.iter().map(|(name, value)| format!("\"{name}\":{value}"));
        match self.shape {
            Shape::Page => {
                let others: String = members.map(|member| format!(",{member}")).collect();
                format!("{{\"items\":[{items}]{others}}}")
            }
            Shape::One if items.is_empty() => "null".to_owned(),
            Shape::One => items,
            Shape::Numbers => {
                let first = members.next().unwrap_or_default();
                format!(
                    "{{{first}{}}}",
                    members.map(|member| format!(",{member}")).collect::<String>()
                )
            }
        }
    }

    /// Whether it is one entity that is gone.
    pub(super) fn is_nothing(&self) -> bool {
        self.shape == Shape::One && self.items.is_empty()
    }

    /// Whether it is an entity that clients take for a page: it has a field `items`.
    pub(super) fn resembles_page(&self) -> bool {
        let mut members = self.items.iter().flat_map(|item| members(&item.json));
        self.shape == Shape::One && members.any(|(name, _)| name == ITEMS)
    }

    /// Whether it shows the same as another.
    pub(super) fn shows_same(&self, other: &Seen) -> bool {
        (self.shape, &self.items, &self.members) == (other.shape, &other.items, &other.members)
    }
}

/// The items of the result before.
struct Earlier<'e> {
    items: &'e [Arc<Item>],
    by_json: OnceCell<HashMap<&'e str, &'e Arc<Item>>>,
}

impl<'e> Earlier<'e> {
    fn new(items: &'e [Arc<Item>]) -> Earlier<'e> {
        Earlier { items, by_json: OnceCell::new() }
    }

    /// The item at a place: one of those before, if it shows the same. Most are where they were, or next to
    /// that.
    fn item(&self, at: usize, json: &str) -> Arc<Item> {
        let near = [Some(at), at.checked_sub(1), Some(at + 1)];
        let near = near.into_iter().flatten().filter_map(|at| self.items.get(at));
        let mut same = near.filter(|item| item.json == json);
        let by_json = || self.items.iter().map(|item| (item.json.as_str(), item)).collect();
        let found = same.next().or_else(|| self.by_json.get_or_init(by_json).get(json).copied());
        found.cloned().unwrap_or_else(|| Arc::new(Item::new(json)))
    }
}

impl Hash for Item {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl Item {
    fn new(json: &str) -> Item {
        let members = members(json);
        let of = |wanted: &str| {
            let found = members.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| (*value).to_owned())
        };
        let all = || {
            let kept = members.iter().filter(|(name, _)| !MEASURES.contains(name));
            kept.map(|(name, value)| format!("{name}:{value},")).collect()
        };
        let id = of("id");
        let identity = id.clone().or_else(|| of("of")).unwrap_or_else(all);
        let mut hasher = DefaultHasher::new();
        json.hash(&mut hasher);
        Item { identity, id, json: json.to_owned(), hash: hasher.finish() }
    }
}
