//! Results within limits: long texts are cut, with a mark, until the whole is short enough to read. Ids,
//! versions and positions stay whole: they are of use only so.

use serde_json::{Map, Value as Json};

use crate::limits::{RESULT_BYTES_MAX, TEXT_CHARACTERS};
use crate::tool_error::ToolError;

/// Members that callers pass on.
const WHOLE: [&str; 4] = ["id", "version", "position", "next"];

/// An object within limits.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) members: Map<String, Json>,
    /// How many texts were cut.
    pub(crate) cut_texts: u64,
}

impl Shown {
    /// Shows an object, with texts as long as the limit of the whole result allows.
    pub(crate) fn new(members: &Map<String, Json>) -> Result<Shown, ToolError> {
        for characters_max in TEXT_CHARACTERS {
            let mut cutter = Cutter { characters_max, cut_texts: 0 };
            let cut = cutter.object(members);
            let bytes = serde_json::to_vec(&cut).map_or(usize::MAX, |bytes| bytes.len());
            if bytes <= RESULT_BYTES_MAX {
                return Ok(Shown { members: cut, cut_texts: cutter.cut_texts });
            }
        }
        Err(ToolError::new("too-long", "The result is too long.").with_hint(
            "Request fewer rows with `limit`, or fewer fields with the parameter `fields`.",
        ))
    }
}

struct Cutter {
    characters_max: usize,
    cut_texts: u64,
}

impl Cutter {
    fn object(&mut self, members: &Map<String, Json>) -> Map<String, Json> {
        let shown = |(name, value): (&String, &Json)| {
            let is_whole = value.is_string() && WHOLE.contains(&name.as_str());
            (name.clone(), if is_whole { value.clone() } else { self.value(value) })
        };
        members.iter().map(shown).collect()
    }

    fn value(&mut self, value: &Json) -> Json {
        match value {
            Json::String(text) => Json::String(self.text(text)),
            Json::Array(values) => values.iter().map(|value| self.value(value)).collect(),
            Json::Object(members) => Json::Object(self.object(members)),
            Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let Some((end, _)) = text.char_indices().nth(self.characters_max) else {
            return text.to_owned();
        };
        self.cut_texts += 1;
        let characters = text.chars().count();
        format!("{}… [cut: {characters} characters]", &text[..end])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn show(value: Json) -> Result<Shown, ToolError> {
        Shown::new(value.as_object().unwrap())
    }

    #[test]
    fn long_texts_are_cut_and_counted() {
        let long = "é".repeat(TEXT_CHARACTERS[0] + 1);
        let shown = show(json!({ "a": [long], "b": "short", "next": long })).unwrap();
        assert_eq!(shown.members["next"], json!(long));
        let cut = shown.members["a"][0].as_str().unwrap();
        assert!(cut.ends_with("é… [cut: 2001 characters]"), "{cut}");
        assert_eq!((&shown.members["b"], shown.cut_texts), (&json!("short"), 1));
    }

    #[test]
    fn texts_get_shorter_until_the_result_fits() {
        let shown = show(json!({ "rows": vec!["x".repeat(1500); 400] })).unwrap();
        let bytes = Json::Object(shown.members).to_string().len();
        assert!(bytes <= RESULT_BYTES_MAX && shown.cut_texts == 400, "{bytes}");
        let refused = show(json!({ "rows": vec![123_456; 60_000] })).unwrap_err();
        assert!(refused.has_code("too-long"));
    }
}
