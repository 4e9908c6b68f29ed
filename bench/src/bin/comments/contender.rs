//! The requests, and the services that handle them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_bench::Running;

/// The number of products with comments.
pub(crate) const PRODUCTS: u64 = 100;
/// Languages, equally frequent.
const LANGUAGES: [&str; 5] = ["en", "fr", "de", "it", "es"];
const BODY_BYTES: usize = 950;

/// A kind of request.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    Get,
    Page,
    Filtered,
    FilteredWithTotal,
    Count,
    Create,
}

impl Work {
    /// Creating is last, so that all other requests see the same comments.
    pub(crate) const ALL: [Work; 6] =
        [Work::Get, Work::Page, Work::Filtered, Work::FilteredWithTotal, Work::Count, Work::Create];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Work::Get => "get a comment",
            Work::Page => "newest 20 of a product",
            Work::Filtered => "the same in a language, with three ratings",
            Work::FilteredWithTotal => "the same with the total",
            Work::Count => "count of a product in a language",
            Work::Create => "create a comment",
        }
    }
}

/// A running service.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) running: Running,
    /// Builds a request: its line without the version, and its body.
    pub(crate) request: fn(Work, &Target<'_>) -> (String, Option<String>),
    /// The files with the comments.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) ids: Vec<String>,
    pub(crate) created: AtomicU64,
}

/// The parameters of a request.
pub(crate) struct Target<'a> {
    pub(crate) id: &'a str,
    pub(crate) product: u64,
    pub(crate) language: &'static str,
    /// Greater is newer.
    pub(crate) number: u64,
    pub(crate) rating: u64,
}

impl<'a> Target<'a> {
    pub(crate) fn new(random: u64, number: u64, ids: &'a [String]) -> Target<'a> {
        let id = ids.get(random as usize % ids.len().max(1)).map_or("", String::as_str);
        let language = LANGUAGES[random as usize / 7 % LANGUAGES.len()];
        let (product, rating) = (random / 64 % PRODUCTS, random / 8192 % 5 + 1);
        Target { id, product, language, number, rating }
    }

    /// Returns a new comment as JSON.
    pub(crate) fn comment(&self) -> String {
        let Target { product, language, number, rating, .. } = self;
        let body = "x".repeat(BODY_BYTES);
        format!(
            r#"{{"product":"p{product}","language":"{language}","rating":{rating},"created":{number},"body":"{body}"}}"#
        )
    }
}

impl Contender {
    pub(crate) fn bytes_per_comment(&self) -> u64 {
        let len = |path: &PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
        let bytes: u64 = self.files.iter().map(len).sum();
        bytes / self.created.load(Ordering::Relaxed).max(1)
    }
}
