//! An SVG canvas that grows downward. All text is escaped here.

use std::fmt::Write as _;

use keyloom_server::escape_html;

pub(crate) const WIDTH: f64 = 1400.0;
pub(crate) const MARGIN: f64 = 32.0;
pub(crate) const INK: &str = "#1f2430";
pub(crate) const MUTED: &str = "#5f6675";
pub(crate) const LINE: &str = "#d5d9e2";
pub(crate) const HEAD: &str = "#f3f5f9";

/// Fill and text colors of entities; reused after eight.
const COLORS: [(&str, &str); 8] = [
    ("#e8f0fe", "#1d4fb8"),
    ("#e6f4ea", "#14692f"),
    ("#fff1dd", "#955000"),
    ("#f3e8fd", "#6f23b4"),
    ("#def5f7", "#00666d"),
    ("#fde8e6", "#a81f1c"),
    ("#f1f3cf", "#5b6100"),
    ("#fde7f3", "#a3195b"),
];

/// The fill and text colors of the entity with this index in the model.
pub(crate) fn color(index: usize) -> (&'static str, &'static str) {
    COLORS[index % COLORS.len()]
}

/// A text style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Title,
    Heading,
    Label,
    Small,
    Code,
}

impl Style {
    const fn class(self) -> &'static str {
        match self {
            Style::Title => "title",
            Style::Heading => "heading",
            Style::Label => "label",
            Style::Small => "small",
            Style::Code => "code",
        }
    }

    /// The width of a character: exact for code, approximate otherwise.
    const fn advance(self) -> f64 {
        match self {
            Style::Title => 14.5,
            Style::Heading => 10.0,
            Style::Label => 8.0,
            Style::Small => 6.6,
            Style::Code => 7.23,
        }
    }

    /// The approximate width of a text.
    pub(crate) fn width(self, text: &str) -> f64 {
        text.chars().count() as f64 * self.advance()
    }
}

/// The picture so far.
pub(crate) struct Canvas {
    body: String,
    /// The top of the next element.
    pub(crate) y: f64,
}

impl Canvas {
    pub(crate) fn new() -> Canvas {
        Canvas { body: String::new(), y: MARGIN }
    }

    /// The right edge.
    pub(crate) fn right(&self) -> f64 {
        WIDTH - MARGIN
    }

    pub(crate) fn rect(
        &mut self,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        fill: &str,
        stroke: Option<&str>,
    ) {
        let stroke =
            stroke.map(|ink| format!(" stroke=\"{ink}\" stroke-opacity=\"0.45\" rx=\"5\""));
        let stroke = stroke.unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"{stroke}/>"
        );
    }

    /// The frame of a block.
    pub(crate) fn frame(&mut self, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let _ = writeln!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"none\" \
             stroke=\"{LINE}\"/>"
        );
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let _ = writeln!(
            self.body,
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{LINE}\"/>"
        );
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, style: Style, ink: &str, text: &str) {
        let (class, text) = (style.class(), escape(text));
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" class=\"{class}\" fill=\"{ink}\">{text}</text>"
        );
    }

    /// Draws a text, truncated to `width`; the full text is its tooltip.
    pub(crate) fn fit(
        &mut self,
        (x, y): (f64, f64),
        width: f64,
        style: Style,
        ink: &str,
        text: &str,
    ) {
        let room = (width / style.advance()) as usize;
        if text.chars().count() <= room {
            return self.text(x, y, style, ink, text);
        }
        let cut: String = text.chars().take(room.saturating_sub(1)).collect();
        let (class, cut, whole) = (style.class(), escape(&cut), escape(text));
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" class=\"{class}\" fill=\"{ink}\"><title>{whole}</title>{cut}…</text>"
        );
    }

    /// Draws a heading with a note beside it.
    pub(crate) fn heading(&mut self, name: &str, note: &str) {
        self.y += 34.0;
        let (y, after) = (self.y, MARGIN + Style::Heading.width(name) + 14.0);
        self.text(MARGIN, y, Style::Heading, INK, name);
        self.text(after, y, Style::Small, MUTED, note);
        self.y += 14.0;
    }

    /// Returns the SVG document.
    pub(crate) fn finish(self, title: &str) -> String {
        let height = self.y + MARGIN;
        let title = escape(title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>{title}</title>\n<style>\n\
             text {{ font-family: system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; }}\n\
             .title {{ font-size: 26px; font-weight: 700; }}\n\
             .heading {{ font-size: 17px; font-weight: 700; }}\n\
             .label {{ font-size: 12px; font-weight: 600; }}\n\
             .small {{ font-size: 12px; }}\n\
             .code {{ font-size: 12px; font-family: ui-monospace, Menlo, Consolas, \
             'DejaVu Sans Mono', monospace; white-space: pre; }}\n\
             </style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// Escapes text for XML. Characters that XML does not allow become U+FFFD.
fn escape(text: &str) -> String {
    let allowed = |c| match c {
        '\t' | '\n' | '\r' => ' ',
        '\0'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
        c => c,
    };
    escape_html(&text.chars().map(allowed).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_text_is_escaped() {
        assert_eq!(escape("a<b>&\"c\"\u{1}\n"), "a&lt;b&gt;&amp;&quot;c&quot;\u{FFFD} ");
        let mut canvas = Canvas::new();
        canvas.fit((0.0, 0.0), 30.0, Style::Code, INK, "</text><script>");
        let drawn = canvas.finish("</title>");
        assert!(!drawn.contains("<script>") && !drawn.contains("</title></title>"), "{drawn}");
    }
}
