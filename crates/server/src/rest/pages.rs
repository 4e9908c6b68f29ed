//! Static pages, rendered once: the OpenAPI document, the API reference, the welcome page, and the
//! pages that an application adds.

use std::collections::HashMap;

use hyper::StatusCode;
use hyper::header::{CONTENT_SECURITY_POLICY, ETAG, HeaderMap, HeaderName};
use keyloom_model::Model;
use ring::digest::{SHA256, digest};

use super::call::{JSON, Reply, Tags, if_none_match};
use super::docs;
use super::openapi::{describe, document};
use super::operation::Operation;
use crate::base64;

/// All that can be read without a token.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) openapi: Page,
    pub(crate) docs: Page,
    own: HashMap<String, Page>,
}

/// A page of an application's own, for anybody to see: it asks for data as every client does.
#[derive(Clone, Debug)]
pub struct OwnPage {
    /// Where it is: `/`, `/page.js`.
    pub path: String,
    /// `text/html; charset=utf-8`.
    pub media_type: &'static str,
    /// What it is.
    pub body: Vec<u8>,
}

/// A text that stays as it is as long as the server runs.
#[derive(Debug)]
pub(crate) struct Page {
    media_type: &'static str,
    tag: String,
    headers: Vec<(HeaderName, String)>,
    body: Vec<u8>,
}

impl Pages {
    /// The pages of a service that is called `name`.
    pub(crate) fn new(
        name: &str,
        model: &Model,
        operations: &[Operation],
        own_pages: &[OwnPage],
    ) -> Pages {
        let described = describe(model, operations);
        let document = document(name, model, &described);
        let page = docs::page(name, model, &described);
        let welcome = docs::welcome(name, model, &described);
        let welcome = Page::with_script(welcome, docs::WELCOME_SCRIPT);
        let own_pages = own_pages.iter().map(|page| (page.path.clone(), Page::of(page)));
        Pages {
            openapi: Page::new(JSON, format!("{document:#}\n").into_bytes()),
            docs: Page::with_script(page, docs::SCRIPT),
            // A page of the application's own at `/` takes the place of the welcome page.
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
        // Whatever gets into a page from outside is not run.
        let policy = "default-src 'none'; style-src 'self'; script-src 'self'; \
                      img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
        let headers = vec![(CONTENT_SECURITY_POLICY, policy.to_owned())];
        Page { headers, ..Page::new(page.media_type, page.body.clone()) }
    }

    /// A page of ours with the style of the API reference and one script. Nothing else runs or is
    /// shown, and nothing is fetched but answers of this server.
    fn with_script(html: String, script: &str) -> Page {
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; \
             connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            base64::encode(&sha256(docs::STYLE.as_bytes())),
            base64::encode(&sha256(script.as_bytes())),
        );
        let headers = vec![(CONTENT_SECURITY_POLICY, policy)];
        Page { headers, ..Page::new("text/html; charset=utf-8", html.into_bytes()) }
    }

    fn new(media_type: &'static str, body: Vec<u8>) -> Page {
        let digest = sha256(&body);
        let tag = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Page { media_type, tag, headers: vec![], body }
    }

    /// The page, unless the client has it.
    pub(crate) fn reply(&self, asked: &HeaderMap) -> Reply {
        let is_known = match if_none_match(asked) {
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
