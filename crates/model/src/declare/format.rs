//! Reads `format`: `FIELD = "FORMAT"` or `FIELD.ENUM = { MEMBER = "FORMAT", ... }`.

use super::keys::{Keys, table, text};
use crate::declared::{DeclaredFormat, DeclaredFormatChoice};
use crate::error::{Code, Report, Reporter};
use crate::parse::{Entry, NodeKind};

pub(crate) fn formats(keys: &Keys<'_>, reporter: &mut Reporter<'_>) -> Vec<DeclaredFormat> {
    let entries = keys.table("format", reporter).iter();
    entries.filter_map(|entry| format(entry, reporter)).collect()
}

fn format(entry: &Entry, reporter: &mut Reporter<'_>) -> Option<DeclaredFormat> {
    let field = entry.key.clone();
    let NodeKind::Table(fields) = &entry.node.kind else {
        let choice = DeclaredFormatChoice::Always(text(entry, reporter)?);
        return Some(DeclaredFormat { field, choice });
    };
    let [by] = fields.as_slice() else {
        let reason = format!("the format of `{}` depends on exactly one field", field.text);
        let help = "write a format, or `{ ENUM = { MEMBER = \"FORMAT\" } }` for one enum field";
        reporter.push(Report::new(Code::BadFormat, entry.key.span, reason).help(help));
        return None;
    };
    let mut members = vec![];
    for member in table(by, reporter)? {
        members.extend(text(member, reporter).map(|format| (member.key.clone(), format)));
    }
    let choice = DeclaredFormatChoice::By(by.key.clone(), members);
    Some(DeclaredFormat { field, choice })
}
