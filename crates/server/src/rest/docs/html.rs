//! Writes HTML. All text and attribute values are escaped, and every element is closed.

/// A page under construction.
#[derive(Debug, Default)]
pub(super) struct Html(String);

/// Attributes of an element. Names are trusted, values are not.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Html {
    /// Writes an element with content.
    pub(super) fn within(
        &mut self,
        tag: &'static str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Html),
    ) {
        self.open(tag, attributes);
        inside(self);
        self.0.push_str(&format!("</{tag}>"));
    }

    /// Writes an element with text.
    pub(super) fn element(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.within(tag, attributes, |html| html.text(text));
    }

    /// Writes an element with text in which backticks mark code.
    pub(super) fn prose(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.within(tag, attributes, |html| {
            for (index, part) in text.split('`').enumerate() {
                match index % 2 {
                    0 => html.text(part),
                    _ => html.element("code", &[], part),
                }
            }
        });
    }

    /// Writes a void element, such as `input`.
    pub(super) fn open(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push_str(&format!(" {name}=\""));
            self.text(value);
            self.0.push('"');
        }
        self.0.push('>');
    }

    pub(super) fn text(&mut self, text: &str) {
        self.0.push_str(&escape_html(text));
    }

    /// Writes trusted HTML without escaping.
    pub(super) fn own(&mut self, text: &'static str) {
        self.0.push_str(text);
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// Escapes text for HTML and XML, also for attribute values.
#[must_use]
pub fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::Html;

    #[test]
    fn untrusted_text_is_never_markup() {
        let hostile = r#"<script>alert("1")</script>'&"#;
        let mut html = Html::default();
        html.within("p", &[("title", hostile)], |html| html.text(hostile));
        html.prose("p", &[], "a `<b>` c");
        let text = html.finish();
        assert_eq!(text.matches('<').count(), 6, "only our own tags: {text}");
        assert!(text.contains("<code>&lt;b&gt;</code>"), "{text}");
        assert!(text.contains("&quot;1&quot;") && text.contains("&#39;&amp;"), "{text}");
    }
}
