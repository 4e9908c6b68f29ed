//! Static pages: the OpenAPI document, the API reference, the welcome page, and the pages that an
//! application adds.

use std::collections::HashMap;

use hyper::StatusCode;
use hyper::header::{CONTENT_SECURITY_POLICY, ETAG, HeaderMap, HeaderName};
use ring::digest::{SHA256, digest};

use super::call::{JSON, Reply, Tags, if_none_match};
use super::docs;
use crate::console::{Console, inline_policy};

/// All static pages. None of them needs a token.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) openapi: Page,
    pub(crate) docs: Page,
    pub(crate) console: Page,
    own: HashMap<String, Page>,
}

/// A page that an application adds. It is public, and requests data as every client does.
#[derive(Clone, Debug)]
pub struct OwnPage {
    /// Its path: `/`, `/page.js`.
    pub path: String,
    /// `text/html; charset=utf-8`.
    pub media_type: &'static str,
    /// Its content.
    pub body: Vec<u8>,
}

/// A page that does not change while the server runs.
#[derive(Debug)]
pub(crate) struct Page {
    media_type: &'static str,
    tag: String,
    headers: Vec<(HeaderName, String)>,
    body: Vec<u8>,
}

/// Pages that are rendered from a model.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub(crate) openapi: String,
    pub(crate) docs: String,
    pub(crate) welcome: String,
}

impl Pages {
    /// The rendered pages of a service with a name, its console, and the pages of an application.
    pub(crate) fn new(name: &str, rendered: Rendered, own_pages: &[OwnPage]) -> Pages {
        let console = Console::of_model(name);
        let welcome = Page::inline(rendered.welcome, docs::STYLE, docs::WELCOME_SCRIPT);
        let own_pages = own_pages.iter().map(|page| (page.path.clone(), Page::of(page)));
        Pages {
            openapi: Page::new(JSON, rendered.openapi.into_bytes()),
            docs: Page::inline(rendered.docs, docs::STYLE, docs::SCRIPT),
            console: Page::html(console.html, console.policy),
            // An application's own page at `/` replaces the welcome page.
            own: [("/".to_owned(), welcome)].into_iter().chain(own_pages).collect(),
        }
    }

    /// The application's own page at a path.
    pub(crate) fn own(&self, path: &str) -> Option<&Page> {
        self.own.get(path)
    }
}

impl Page {
    fn of(page: &OwnPage) -> Page {
        // Scripts injected into a page do not run.
        let policy = "default-src 'none'; style-src 'self'; script-src 'self'; \
                      img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
        let headers = vec![(CONTENT_SECURITY_POLICY, policy.to_owned())];
        Page { headers, ..Page::new(page.media_type, page.body.clone()) }
    }

    /// A page of this crate that contains its style and one script.
    fn inline(html: String, style: &str, script: &str) -> Page {
        Page::html(html, inline_policy(style, script))
    }

    fn html(html: String, policy: String) -> Page {
        let headers = vec![(CONTENT_SECURITY_POLICY, policy)];
        Page { headers, ..Page::new("text/html; charset=utf-8", html.into_bytes()) }
    }

    fn new(media_type: &'static str, body: Vec<u8>) -> Page {
        let digest = sha256(&body);
        let tag = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Page { media_type, tag, headers: vec![], body }
    }

    /// Returns the page, or 304 if the client has it.
    pub(crate) fn reply(&self, headers: &HeaderMap) -> Reply {
        let is_known = match if_none_match(headers) {
            Ok(Tags::Of(tags)) => tags.contains(&self.tag),
            Ok(Tags::Any) => true,
            Ok(Tags::Absent) | Err(_) => false,
        };
        let mut reply = match is_known {
            true => Reply::empty(StatusCode::NOT_MODIFIED),
            false => {
                let (media_type, body) = (self.media_type, self.body.clone());
                Reply { media_type, body, ..Reply::empty(StatusCode::OK) }
            }
        };
        reply.headers.extend(self.headers.iter().cloned());
        reply.with(ETAG, format!("\"{}\"", self.tag))
    }
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    digest(&SHA256, bytes).as_ref().to_vec()
}
