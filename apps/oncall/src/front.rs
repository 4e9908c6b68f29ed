//! The files of the page for browsers. They are the same for everybody; data comes from requests.

use keyloom_server::OwnPage;

/// What the page has beside the service itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Panel {
    /// Nothing.
    None,
    /// The messages of the built-in receiver.
    Receiver,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Path, media type, text.
const FILES: [(&str, &str, &str); 8] = [
    ("/", HTML, include_str!("page/index.html")),
    ("/page.css", CSS, include_str!("page/page.css")),
    ("/page.js", SCRIPT, include_str!("page/page.js")),
    ("/search.js", SCRIPT, include_str!("page/search.js")),
    ("/live.js", SCRIPT, include_str!("page/live.js")),
    ("/when.js", SCRIPT, include_str!("page/when.js")),
    ("/base.css", CSS, include_str!("../../page/base.css")),
    ("/api.js", SCRIPT, include_str!("../../page/api.js")),
];

/// The files of the page, with or without a panel.
pub(crate) fn pages(panel: Panel) -> Vec<OwnPage> {
    let receiver = match panel {
        Panel::None => include_str!("page/no_receiver.js"),
        Panel::Receiver => include_str!("page/receiver.js"),
    };
    let files = FILES.into_iter().chain([("/receiver.js", SCRIPT, receiver)]);
    files
        .map(|(path, media_type, text)| OwnPage {
            path: path.to_owned(),
            media_type,
            body: text.as_bytes().to_vec(),
        })
        .collect()
}
