//! The console at `/console`: one page for administrators, with its style and its script.
//!
//! The script is built from the TypeScript in the folder `console` of the repository by `cargo xtask console`.
//! It is a client as every other one: it reads `/openapi.json` and `/model`, and sends the token of its user.

use super::docs::escape_html;

/// The style of the page.
pub(super) const STYLE: &str = include_str!("console/console.css");
/// The program of the page.
pub(super) const SCRIPT: &str = include_str!("console/console.js");

/// Renders the console of a service with a name.
pub(super) fn page(name: &str) -> String {
    let name = escape_html(name);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>{name}: console</title><style>{STYLE}</style></head>\
         <body><div id=\"console\" data-service=\"{name}\"></div>\
         <noscript>The console needs JavaScript. <a href=\"/docs\">The API reference</a> does not.</noscript>\
         <script>{SCRIPT}</script></body></html>\n"
    )
}
