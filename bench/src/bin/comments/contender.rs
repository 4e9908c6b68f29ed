//! What is asked of both services, and what a service is here.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_bench::Running;

/// So many products have comments.
pub(crate) const PRODUCTS: u64 = 100;
/// As many comments are in one as in another.
const LANGUAGES: [&str; 5] = ["en", "fr", "de", "it", "es"];
const BODY_BYTES: usize = 950;

/// What is asked.
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
    /// Creating comes last, so that all others find the same comments.
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

/// A service that is running.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) running: Running,
    /// The request for some work: its line without the version, and its body.
    pub(crate) request: fn(Work, &Asked<'_>) -> (String, Option<String>),
    /// The files that hold the comments.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) ids: Vec<String>,
    pub(crate) created: AtomicU64,
}

/// What a request is about.
pub(crate) struct Asked<'a> {
    pub(crate) id: &'a str,
    pub(crate) product: u64,
    pub(crate) language: &'static str,
    /// The greater, the newer.
    pub(crate) number: u64,
    pub(crate) rating: u64,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(random: u64, number: u64, ids: &'a [String]) -> Asked<'a> {
        let id = ids.get(random as usize % ids.len().max(1)).map_or("", String::as_str);
        let language = LANGUAGES[random as usize / 7 % LANGUAGES.len()];
        let (product, rating) = (random / 64 % PRODUCTS, random / 8192 % 5 + 1);
        Asked { id, product, language, number, rating }
    }

    /// A new comment as JSON.
    pub(crate) fn comment(&self) -> String {
        let Asked { product, language, number, rating, .. } = self;
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
