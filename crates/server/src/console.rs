//! The consoles at `/console`: each is one page for administrators, with its style and its script.
//!
//! The scripts are built from the TypeScript in the folder `console` of the repository by `cargo xtask console`. They
//! are clients as every other one, and send the credentials of their user. The pages themselves have no data.

use ring::digest::{SHA256, digest};

use crate::base64;
use crate::rest::escape_html;

/// The style of both consoles.
const STYLE: &str = include_str!("console/console.css");

/// A page that contains its style and its only script.
#[derive(Debug)]
pub(crate) struct Console {
    pub(crate) html: String,
    /// The value of `Content-Security-Policy`.
    pub(crate) policy: String,
}

impl Console {
    /// The console of a model that is served under a name.
    pub(crate) fn of_model(name: &str) -> Console {
        let other = "<a href=\"/docs\">The API reference</a> does not.";
        Console::new(&escape_html(name), include_str!("console/console.js"), other)
    }

    /// The console of tables that are served over the DynamoDB API.
    pub(crate) fn of_tables() -> Console {
        Console::new("DynamoDB", include_str!("console/dynamodb.js"), "")
    }

    /// The title and the words for a browser that runs no scripts are HTML.
    fn new(title: &str, script: &str, other: &str) -> Console {
        let html = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\">\
             <title>{title}: console</title><style>{STYLE}</style></head>\
             <body><div id=\"console\" data-service=\"{title}\"></div>\
             <noscript>The console needs JavaScript. {other}</noscript>\
             <script>{script}</script></body></html>\n"
        );
        Console { html, policy: inline_policy(STYLE, script) }
    }
}

/// The policy of a page that contains its style and one script: it allows no other script or style, and requests to
/// this server only.
pub(crate) fn inline_policy(style: &str, script: &str) -> String {
    let hash = |text: &str| base64::encode(digest(&SHA256, text.as_bytes()).as_ref());
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash(style),
        hash(script),
    )
}
