//! Collects errors while the stages run, so that all errors of a file are reported at once.

use super::code::Code;
use super::excerpt::Excerpt;
use super::model_error::ModelError;
use crate::source::{Source, Span};
use crate::suggest::nearest;

/// Maximum number of reported errors: nobody reads more, and a hostile file could have a million.
const ERRORS_MAX: usize = 1000;
/// Maximum number of names that a help line lists.
const LISTED_MAX: usize = 20;
/// Maximum length of a quoted value, in characters.
const WRITTEN_MAX: usize = 60;

/// An error as a stage reports it.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) code: Code,
    pub(crate) span: Span,
    pub(crate) reason: String,
    pub(crate) help: Option<String>,
}

impl Report {
    pub(crate) fn new(code: Code, span: Span, reason: impl Into<String>) -> Report {
        Report { code, span, reason: reason.into(), help: None }
    }

    /// Adds how to fix the error.
    pub(crate) fn help(self, help: impl Into<String>) -> Report {
        Report { help: Some(help.into()), ..self }
    }
}

/// The errors so far.
#[derive(Debug)]
pub(crate) struct Reporter<'a> {
    source: &'a Source<'a>,
    reports: Vec<Report>,
    is_full: bool,
}

impl<'a> Reporter<'a> {
    pub(crate) fn new(source: &'a Source<'a>) -> Reporter<'a> {
        Reporter { source, reports: vec![], is_full: false }
    }

    /// Whether nothing was reported so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.reports.is_empty()
    }

    /// Reports an error whose reason makes the fix obvious.
    pub(crate) fn report(&mut self, code: Code, span: Span, reason: impl Into<String>) {
        self.push(Report::new(code, span, reason));
    }

    pub(crate) fn push(&mut self, report: Report) {
        if self.reports.len() < ERRORS_MAX {
            self.reports.push(report);
        } else if !self.is_full {
            self.is_full = true;
            let reason = format!("there are more than {ERRORS_MAX} errors");
            let too_many = Report::new(Code::TooManyErrors, report.span, reason);
            self.reports.push(too_many.help("fix these to see the others"));
        }
    }

    /// A help line for an unknown name: the most similar known name, or all of them.
    pub(crate) fn suggest<'n>(
        &self,
        name: &str,
        what: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Option<String> {
        if self.is_full {
            return None;
        }
        let known: Vec<&str> = known.into_iter().collect();
        if let Some(near) = nearest(name, &known) {
            return Some(format!("did you mean `{near}`?"));
        }
        if known.is_empty() {
            return None;
        }
        let listed: Vec<String> =
            known.iter().take(LISTED_MAX).map(|name| format!("`{name}`")).collect();
        let more = if known.len() > LISTED_MAX { ", ..." } else { "" };
        Some(format!("{what}: {}{more}", listed.join(", ")))
    }

    /// The source text of a span: its first line, truncated.
    pub(crate) fn written(&self, span: Span) -> String {
        let line = self.source.slice(span).lines().next().unwrap_or("");
        line.chars().take(WRITTEN_MAX).collect()
    }

    /// Returns all errors in the order of the file, without duplicates.
    pub(crate) fn finish(mut self) -> Vec<ModelError> {
        self.reports.sort_by(|a, b| (a.span, a.code, &a.reason).cmp(&(b.span, b.code, &b.reason)));
        self.reports.dedup_by(|a, b| (a.span, a.code, &a.reason) == (b.span, b.code, &b.reason));
        self.reports.iter().map(|report| self.error(report)).collect()
    }

    fn error(&self, report: &Report) -> ModelError {
        let position = self.source.position(report.span.start);
        ModelError {
            code: report.code,
            reason: report.reason.clone(),
            help: report.help.clone(),
            line: position.line,
            column: position.column,
            excerpt: Excerpt::new(self.source, report.span, position),
        }
    }
}
