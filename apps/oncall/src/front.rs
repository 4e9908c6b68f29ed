//! The files of the web page. They contain no data; the page requests it.

use keyloom_app::pages;
use keyloom_server::OwnPage;

/// An additional panel of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Panel {
    None,
    /// The messages of the built-in receiver.
    Receiver,
}

const FILES: [(&str, &str); 9] = [
    ("index.html", include_str!("page/index.html")),
    ("page.css", include_str!("page/page.css")),
    ("page.js", include_str!("page/page.js")),
    ("search.js", include_str!("page/search.js")),
    ("live.js", include_str!("page/live.js")),
    ("when.js", include_str!("page/when.js")),
    ("client.js", include_str!("page/client.js")),
    ("base.css", include_str!("../../page/base.css")),
    ("api.js", include_str!("../../page/api.js")),
];

/// The files of the page.
pub(crate) fn pages(panel: Panel) -> Result<Vec<OwnPage>, String> {
    let receiver = match panel {
        Panel::None => include_str!("page/no_receiver.js"),
        Panel::Receiver => include_str!("page/receiver.js"),
    };
    pages::embedded(&[&FILES[..], &[("receiver.js", receiver)]].concat())
}
