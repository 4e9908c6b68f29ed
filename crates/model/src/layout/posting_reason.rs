//! What the entities of a posting list have in common, read from its name, to show to people.

use keyloom_value::{KeyBytes, Value};

use super::PostingLists;

impl PostingLists<'_> {
    /// What the entities of a posting list have in common, in a few words; none if it is no posting list
    /// of this layout.
    pub fn reason(&self, name: &[u8]) -> Option<String> {
        let entity = self.layout.model().entity(self.entity(name)?);
        let parts: Vec<String> = KeyBytes::decode(name).ok()?.iter().map(shown).collect();
        let (kind, rest) = (parts.first()?.as_str(), parts.get(2..)?);
        // The tenant follows what names the list.
        let after = |words: usize| rest.get(words + usize::from(entity.has_tenant())..);
        let list = rest.first().map(String::as_str).unwrap_or_default();
        let field = |index: usize| {
            let stored = after(0)?.get(index)?;
            let field = entity.fields.iter().find(|field| field.stored == *stored);
            Some(field.map_or(stored.as_str(), |field| field.name.as_str()))
        };
        Some(match kind {
            "a" => format!("all of `{}`", entity.name),
            "l" => format!("list {list}"),
            "f" => {
                let of_facet = after(1)?;
                let value = of_facet.last()?;
                let stored = of_facet.get(of_facet.len().checked_sub(2)?)?;
                let facet = entity.fields.iter().find(|field| field.stored == *stored);
                let facet = facet.map_or(stored, |field| &field.name);
                format!("list {list}, facet {facet} = {value}")
            }
            "h" => format!("filter: has a value of {}", field(0)?),
            "b" => format!("filter: a bit of {}", field(0)?),
            "w" => format!("search {}: {}", after(0)?.first()?, after(0)?.last()?),
            "t" => format!("tag {}:{}", after(0)?.get(1)?, after(0)?.get(2)?),
            "k" => format!("tag key {}", after(0)?.get(1)?),
            "c" => {
                // The keys, then their values.
                let (keys, values) = after(0)?.get(1..)?.split_at(after(0)?.len() / 2);
                let tags = keys.iter().zip(values).map(|(key, value)| format!("{key}:{value}"));
                format!("tags {}", tags.collect::<Vec<_>>().join(" and "))
            }
            _ => "a deletion in progress".to_owned(),
        })
    }
}

fn shown(value: &Value) -> String {
    value.as_s().map_or_else(|| value.to_string(), str::to_owned)
}
