//! HTML that cannot be forged: every text and every value of an attribute is escaped on its way in,
//! and whatever is opened is closed.

/// A page in the making.
#[derive(Debug, Default)]
pub(super) struct Html(String);

/// Attributes of an element; names are ours, values are anybody's.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Html {
    /// An element with something in it.
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

    /// An element with a text in it.
    pub(super) fn element(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.within(tag, attributes, |html| html.text(text));
    }

    /// An element with sentences in it, whose words in backticks are code.
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

    /// An element that has no end, such as `input`.
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

    /// What was written here and needs no escaping.
    pub(super) fn own(&mut self, text: &'static str) {
        self.0.push_str(text);
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// Text that is nothing but text in HTML and XML, also as the value of an attribute.
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
    fn nothing_that_comes_from_outside_is_markup() {
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
