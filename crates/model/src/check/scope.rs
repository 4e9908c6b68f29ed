//! The fields of one entity, by which its declarations are resolved.

use crate::error::{Code, Report, Reporter};
use crate::model::{Field, FieldId, FieldOrigin, FieldType};
use crate::source::Word;

/// The fields of an entity. Invalid fields are included, so that their uses report no further
/// errors.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) entity: String,
    pub(crate) fields: Vec<ScopedField>,
}

#[derive(Debug)]
pub(crate) struct ScopedField {
    pub(crate) field: Field,
    pub(crate) is_valid: bool,
}

/// What a declaration uses a field for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usage {
    By,
    Order,
    Unique,
    Where,
    Facets,
    Filters,
    Split,
    Sum,
    Min,
    Max,
    Window,
    Of,
    Rank,
    Format,
    FormatBy,
    Pattern,
    Initial,
    Transitions,
    Search,
    Sequence,
    SequenceBy,
}

impl Usage {
    /// The key in the model file.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Usage::By => "by",
            Usage::Order => "order",
            Usage::Unique => "unique",
            Usage::Where => "where",
            Usage::Facets => "facets",
            Usage::Filters => "filters",
            Usage::Split => "split",
            Usage::Sum => "sum",
            Usage::Min => "min",
            Usage::Max => "max",
            Usage::Of | Usage::Window => "of",
            Usage::Rank => "rank",
            Usage::Format | Usage::FormatBy => "format",
            Usage::Pattern => "pattern",
            Usage::Initial => "initial",
            Usage::Transitions => "transitions",
            Usage::Search => "search",
            Usage::Sequence | Usage::SequenceBy => "sequence",
        }
    }

    /// The types that can be used so.
    fn types(self) -> &'static [&'static str] {
        match self {
            Usage::By | Usage::Order | Usage::Unique => {
                &["text", "int", "number", "bool", "time", "bytes", "enum", "ref"]
            }
            Usage::Where | Usage::SequenceBy => {
                &["text", "int", "number", "bool", "time", "enum", "ref"]
            }
            Usage::Filters => &[
                "text", "int", "number", "bool", "time", "bytes", "any", "enum", "ref", "list",
                "map",
            ],
            Usage::Facets | Usage::Split | Usage::Of => &["text", "int", "bool", "enum", "ref"],
            Usage::Sum | Usage::Min | Usage::Max => &["int", "number", "time"],
            Usage::Window => &["time"],
            Usage::Rank => &["int", "number", "time"],
            Usage::Format | Usage::Pattern => &["text"],
            Usage::FormatBy | Usage::Initial | Usage::Transitions => &["enum"],
            Usage::Search => &["text", "list"],
            Usage::Sequence => &["int"],
        }
    }
}

impl Scope {
    pub(crate) fn field(&self, id: FieldId) -> &Field {
        &self.fields[id.index()].field
    }

    /// The field of this name.
    pub(crate) fn find(&self, name: &Word, reporter: &mut Reporter<'_>) -> Option<FieldId> {
        let index = self.fields.iter().position(|scoped| scoped.field.name == name.text);
        if let Some(index) = index {
            return FieldId::from_index(index);
        }
        let reason = format!("`{}` has no field `{}`", self.entity, name.text);
        let parent = self.fields.iter().find(|s| s.field.origin == FieldOrigin::Parent);
        let help = match parent.filter(|_| name.text == "parent") {
            Some(parent) => Some(format!("the field of the parent is `{}`", parent.field.name)),
            None => {
                let known = self.fields.iter().map(|scoped| scoped.field.name.as_str());
                reporter.suggest(&name.text, "its fields are", known)
            }
        };
        reporter.push(Report { code: Code::UnknownField, span: name.span, reason, help });
        None
    }

    /// The field of this name, if its type allows the usage.
    pub(crate) fn find_for(
        &self,
        usage: Usage,
        name: &Word,
        reporter: &mut Reporter<'_>,
    ) -> Option<FieldId> {
        let id = self.find(name, reporter)?;
        let scoped = &self.fields[id.index()];
        if !scoped.is_valid {
            return None;
        }
        let found = scoped.field.of.name();
        if usage.types().contains(&found) {
            return Some(id);
        }
        let key = usage.key();
        let reason = format!("`{}` cannot be in `{key}`: its type is `{found}`", name.text);
        let help = format!("`{key}` takes fields of the types {}", usage.types().join(", "));
        reporter.push(Report::new(Code::BadUse, name.span, reason).help(help));
        None
    }

    /// Several fields for one usage, each once.
    pub(crate) fn find_all(
        &self,
        usage: Usage,
        names: &[Word],
        reporter: &mut Reporter<'_>,
    ) -> Vec<FieldId> {
        let mut found = vec![];
        for name in names {
            let Some(id) = self.find_for(usage, name, reporter) else { continue };
            if found.contains(&id) {
                same_field_twice(name, usage.key(), reporter);
            } else {
                found.push(id);
            }
        }
        found
    }

    pub(crate) fn is_text(&self, id: FieldId) -> bool {
        matches!(self.field(id).of, FieldType::Text(_))
    }
}

pub(crate) fn same_field_twice(name: &Word, key: &str, reporter: &mut Reporter<'_>) {
    let reason = format!("`{}` is already in `{key}`", name.text);
    reporter.push(Report::new(Code::SameFieldTwice, name.span, reason).help("name it once"));
}
