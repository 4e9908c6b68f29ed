//! Collects errors while stages run, so that a file is told all of its errors at once.

use super::excerpt::Excerpt;
use super::{Code, ModelError};
use crate::source::{Source, Span};
use crate::suggest::nearest;

/// Errors that are told of one file: nobody reads more, and a hostile file could have a million.
const ERRORS_MAX: usize = 1000;
/// Names that a help line lists.
const LISTED_MAX: usize = 20;

/// Characters of a value that a reason repeats.
const WRITTEN_MAX: usize = 60;

/// What a stage has to say about a place.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) code: Code,
    pub(crate) span: Span,
    pub(crate) reason: String,
    pub(crate) help: Option<String>,
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

    /// Something is wrong and the reason says it all.
    pub(crate) fn report(&mut self, code: Code, span: Span, reason: impl Into<String>) {
        self.push(Report { code, span, reason: reason.into(), help: None });
    }

    /// Something is wrong and there is something to say on how to mend it.
    pub(crate) fn report_with_help(
        &mut self,
        code: Code,
        span: Span,
        (reason, help): (impl Into<String>, impl Into<String>),
    ) {
        self.push(Report { code, span, reason: reason.into(), help: Some(help.into()) });
    }

    pub(crate) fn push(&mut self, report: Report) {
        if self.reports.len() < ERRORS_MAX {
            self.reports.push(report);
        } else if !self.is_full {
            self.is_full = true;
            let reason = format!("there are more than {ERRORS_MAX} errors");
            let help = Some("the others are told when these are mended".to_owned());
            self.reports.push(Report {
                code: Code::TooManyErrors,
                span: report.span,
                reason,
                help,
            });
        }
    }

    /// What to write instead of a name that is unknown: the nearest there is, or all there are.
    pub(crate) fn instead<'n>(
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
        let shown: Vec<String> =
            known.iter().take(LISTED_MAX).map(|name| format!("`{name}`")).collect();
        let more = if known.len() > LISTED_MAX { ", ..." } else { "" };
        Some(format!("{what}: {}{more}", shown.join(", ")))
    }

    /// What the author wrote there, on one line and not too long.
    pub(crate) fn written(&self, span: Span) -> String {
        let line = self.source.slice(span).lines().next().unwrap_or("");
        line.chars().take(WRITTEN_MAX).collect()
    }

    /// Everything reported, in the order of the file; a place is not told the same thing twice.
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
