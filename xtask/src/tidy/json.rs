//! As much JSON as `cargo metadata` needs: reading, and looking up members.

/// ```text
/// value  = "null" | "true" | "false" | number | string | array | object
/// array  = "[" [ value { "," value } ] "]"
/// object = "{" [ string ":" value { "," string ":" value } ] "}"
/// ```
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
    /// A number, a truth value or null: nothing here looks into them.
    Other,
}

impl Json {
    /// The value of the text; none if the text is not JSON.
    pub(crate) fn parse(text: &str) -> Option<Json> {
        let mut reader = Reader { rest: text };
        let value = reader.value()?;
        reader.rest.trim_start().is_empty().then_some(value)
    }

    /// The member of an object.
    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        let Json::Object(members) = self else { return None };
        members.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        if let Json::Text(text) = self { Some(text) } else { None }
    }

    /// The elements; none if it is not a list.
    pub(crate) fn elements(&self) -> &[Json] {
        if let Json::List(elements) = self { elements } else { &[] }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn value(&mut self) -> Option<Json> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next()? {
            '"' => self.string().map(Json::Text),
            '[' => self.sequence('[', ']', Reader::value).map(Json::List),
            '{' => self.sequence('{', '}', Reader::member).map(Json::Object),
            _ => self.word(),
        }
    }

    fn member(&mut self) -> Option<(String, Json)> {
        self.rest = self.rest.trim_start();
        let name = self.string()?;
        self.eat(':').then_some(())?;
        Some((name, self.value()?))
    }

    fn sequence<T>(
        &mut self,
        open: char,
        close: char,
        element: fn(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.eat(open).then_some(())?;
        let mut elements = vec![];
        if self.eat(close) {
            return Some(elements);
        }
        loop {
            elements.push(element(self)?);
            if self.eat(close) {
                return Some(elements);
            }
            self.eat(',').then_some(())?;
        }
    }

    fn string(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.rest.strip_prefix('"')?.chars();
        loop {
            match characters.next()? {
                '"' => break,
                '\\' => text.push(escaped(&mut characters)?),
                c => text.push(c),
            }
        }
        self.rest = characters.as_str();
        Some(text)
    }

    fn word(&mut self) -> Option<Json> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let rest = self.rest.trim_start_matches(is_word);
        let consumed = rest.len() < self.rest.len();
        self.rest = rest;
        consumed.then_some(Json::Other)
    }

    fn eat(&mut self, c: char) -> bool {
        match self.rest.trim_start().strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

/// The character after a backslash. Halves of a surrogate pair become the replacement character:
/// no name or licence is written with them.
fn escaped(characters: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match characters.next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => {
            let digits: String = characters.by_ref().take(4).collect();
            let code = u32::from_str_radix(&digits, 16).ok()?;
            char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        c => c,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_whatever_stands_around_them() {
        let text =
            r#" {"a": [1, -2.5e3, true, null, {}], "b\"c": {"license": "x\u0041\n"}, "d": []} "#;
        let json = Json::parse(text).unwrap();
        assert_eq!(json.get("b\"c").and_then(|b| b.get("license")?.text()), Some("xA\n"));
        assert_eq!(json.get("a").map(|a| a.elements().len()), Some(5));
        assert_eq!(json.get("d").map(Json::elements), Some(&[][..]));
        assert_eq!(json.get("license"), None);
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        for text in ["", "{", "[1,]", "{\"a\" 1}", "\"a", "1 2", "\"\\u12\""] {
            assert_eq!(Json::parse(text), None, "{text}");
        }
    }
}
