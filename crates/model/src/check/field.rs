//! Fields: a declared spec → a [`Field`] whose range and default fit its type.

mod bounds;

use crate::declared::{
    DeclaredDefault, DeclaredEntity, DeclaredField, DeclaredType, DefaultKind, FieldSpec, TypeKind,
};
use crate::error::{Code, Report, Reporter};
use crate::field_spec::RULES;
use crate::model::{
    DefaultValue, EntityId, Field, FieldAccess, FieldOrigin, FieldType, Limits, OnDelete, Presence,
};
use crate::source::{Span, Word};

use super::choice::Choices;
use super::literal::{self, InvalidLiteral};
use super::name::{Entities, RESERVED, check_name};
use super::scope::{Scope, ScopedField};

/// Maximum number of members of an enum.
const MEMBERS_MAX: usize = 200;
/// Maximum length of a member, in characters.
const MEMBER_LENGTH_MAX: usize = 60;

const PARENT_RULES: Choices<'_, OnDelete> = Choices {
    key: "`on_parent_delete`",
    words: &[("refuse", OnDelete::Refuse), ("cascade", OnDelete::Cascade)],
};
const REFERENCE_RULES: Choices<'_, OnDelete> =
    Choices { key: "the rule for deletion", words: RULES };

/// Checks the fields of entities.
pub(crate) struct FieldChecker<'c, 'd, 'r> {
    pub(crate) entities: &'c Entities<'d>,
    pub(crate) reporter: &'c mut Reporter<'r>,
}

impl FieldChecker<'_, '_, '_> {
    /// All fields of an entity: `id`, the parent, the declared fields.
    pub(crate) fn scope(&mut self, entity: &DeclaredEntity, parent: Option<EntityId>) -> Scope {
        let mut fields = vec![implied("id", FieldOrigin::Id, FieldType::Text(Limits::NONE))];
        let on_delete = on_parent_delete(entity, self.reporter);
        match (&entity.parent, parent) {
            (Some(name), Some(id)) => {
                let of = FieldType::Ref(id, on_delete);
                fields.push(implied(&name.text, FieldOrigin::Parent, of));
            }
            // The parent is unknown. That has been reported; uses of the field are not.
            (Some(name), None) => {
                let field = implied(&name.text, FieldOrigin::Parent, FieldType::Any);
                fields.push(ScopedField { is_valid: false, ..field });
            }
            (None, _) => {}
        }
        for declared in &entity.fields {
            check_field_name(declared, entity, self.reporter);
            let name = declared.name.text.as_str();
            let field = declared.spec.as_ref().and_then(|spec| self.field(name, spec));
            let is_valid = field.is_some();
            let placeholder = || implied(name, FieldOrigin::Declared, FieldType::Any).field;
            fields.push(ScopedField { field: field.unwrap_or_else(placeholder), is_valid });
        }
        Scope { entity: entity.name.text.clone(), fields }
    }

    fn field(&mut self, name: &str, spec: &FieldSpec) -> Option<Field> {
        let of = self.type_of(&spec.of)?;
        let of = bounds::bounded(of, spec.range.as_ref(), self.reporter)?;
        if let FieldType::Ref(_, OnDelete::Clear) = of
            && spec.optional.is_none()
        {
            let reason = "a reference that is cleared must be optional";
            let report = Report::new(Code::ClearNeedsOptional, spec.of.span, reason);
            self.reporter.push(report.help("write `?` after it"));
        }
        check_references(&of, spec.of.span, self.reporter);
        let default = spec.default.as_ref();
        let default = default.and_then(|default| default_of(default, &of, self.reporter));
        let presence = spec.optional.map_or(Presence::Required, |_| Presence::Optional);
        // `read_only` is a key of the entity and is applied later.
        let (origin, access) = (FieldOrigin::Declared, FieldAccess::ReadWrite);
        let (name, stored) = (name.to_owned(), name.to_owned());
        Some(Field { name, stored, origin, of, presence, default, access })
    }

    fn type_of(&mut self, declared: &DeclaredType) -> Option<FieldType> {
        Some(match &declared.kind {
            TypeKind::Text => FieldType::Text(Limits::NONE),
            TypeKind::Int => FieldType::Int(Limits::NONE),
            TypeKind::Number => FieldType::Number(Limits::NONE),
            TypeKind::Bool => FieldType::Bool,
            TypeKind::Time => FieldType::Time,
            TypeKind::Bytes => FieldType::Bytes(Limits::NONE),
            TypeKind::Any => FieldType::Any,
            TypeKind::Tags => FieldType::Tags,
            TypeKind::Enum(members) => {
                FieldType::Enum(members_of(declared, members, self.reporter))
            }
            TypeKind::Ref { entity, rule } => {
                let rule = rule.as_ref();
                let rule = rule.and_then(|rule| REFERENCE_RULES.find(rule, self.reporter));
                let target = self.entities.find(entity, self.reporter)?;
                FieldType::Ref(target, rule.unwrap_or(OnDelete::Refuse))
            }
            TypeKind::List(of) => {
                FieldType::List(self.element_of(of.as_deref(), Holder::List)?, Limits::NONE)
            }
            TypeKind::Map(of) => {
                FieldType::Map(self.element_of(of.as_deref(), Holder::Map)?, Limits::NONE)
            }
        })
    }

    fn element_of(
        &mut self,
        declared: Option<&DeclaredType>,
        holder: Holder,
    ) -> Option<Box<FieldType>> {
        let Some(declared) = declared else { return Some(Box::new(FieldType::Any)) };
        let of = self.type_of(declared)?;
        let holds_references =
            matches!(&of, FieldType::List(of, _) if matches!(**of, FieldType::Ref(..)));
        let is_reference = matches!(of, FieldType::Ref(..)) && holder == Holder::Map;
        if of == FieldType::Tags || is_reference || holds_references {
            let (reason, help) = match of {
                FieldType::Tags => {
                    ("lists and maps cannot hold `tags`", "declare a field of type `tags`")
                }
                _ => (
                    "only a list that is not inside another list or map can hold references",
                    "make an entity for the relation, with one `ref` for each side",
                ),
            };
            self.reporter.push(Report::new(Code::BadElement, declared.span, reason).help(help));
            return None;
        }
        Some(Box::new(of))
    }
}

/// The type that contains elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    List,
    Map,
}

/// A field that the model file does not describe: `id`, the parent, or one whose declaration is
/// invalid.
fn implied(name: &str, origin: FieldOrigin, of: FieldType) -> ScopedField {
    let (presence, access) = (Presence::Required, FieldAccess::ReadWrite);
    let (name, stored) = (name.to_owned(), name.to_owned());
    let field = Field { name, stored, origin, of, presence, default: None, access };
    ScopedField { field, is_valid: true }
}

fn on_parent_delete(entity: &DeclaredEntity, reporter: &mut Reporter<'_>) -> OnDelete {
    let Some(word) = &entity.on_parent_delete else { return OnDelete::Refuse };
    if entity.parent.is_none() {
        let reason = format!("`{}` has no parent that could be deleted", entity.name.text);
        let help = "add `parent = \"...\"`, or leave this out";
        reporter.push(Report::new(Code::NoParent, word.span, reason).help(help));
    }
    PARENT_RULES.find(word, reporter).unwrap_or(OnDelete::Refuse)
}

fn check_field_name(field: &DeclaredField, entity: &DeclaredEntity, reporter: &mut Reporter<'_>) {
    let name = &field.name;
    check_name(name, "a field", reporter);
    if RESERVED.contains(&name.text.as_str()) {
        let reason = format!("`{}` cannot be the name of a field: it is reserved", name.text);
        let help = match name.text.as_str() {
            "id" => "every entity has an `id`; `id = \"given\"` lets callers choose it".to_owned(),
            _ => format!("reserved names are {}", RESERVED.join(", ")),
        };
        reporter.push(Report::new(Code::ReservedName, name.span, reason).help(help));
    }
    if entity.parent.as_ref().is_some_and(|parent| parent.text == name.text) {
        let reason = format!("`{}` is the parent's name, which holds the parent's id", name.text);
        let help = "leave this field out, or call it something else";
        reporter.push(Report::new(Code::ParentFieldClash, name.span, reason).help(help));
    }
}

/// References in a list, and only they, are kept when their targets are deleted. A write checks
/// each reference that it adds in its transaction, so their number is bounded.
fn check_references(of: &FieldType, span: Span, reporter: &mut Reporter<'_>) {
    let (reason, help) = match of {
        FieldType::Ref(_, OnDelete::Keep) => (
            "a single reference cannot be kept when its target is deleted",
            "write `refuse`, `cascade` or `clear`",
        ),
        FieldType::List(of, limits) => match (&**of, limits.high) {
            (FieldType::Ref(_, OnDelete::Keep), None) => (
                "a list of references must have an upper bound",
                "write one after it, such as `..20`",
            ),
            (FieldType::Ref(_, OnDelete::Refuse | OnDelete::Cascade | OnDelete::Clear), _) => (
                "references in a list must be kept when their targets are deleted",
                "write `keep` after the entity, or make an entity for the relation",
            ),
            _ => return,
        },
        _ => return,
    };
    reporter.push(Report::new(Code::BadReferences, span, reason).help(help));
}

fn members_of(
    declared: &DeclaredType,
    members: &[Word],
    reporter: &mut Reporter<'_>,
) -> Vec<String> {
    let mut found: Vec<String> = vec![];
    if members.is_empty() {
        let help = "write them as `enum(open, done)`";
        reporter
            .push(Report::new(Code::BadEnum, declared.span, "the enum has no members").help(help));
    }
    if let Some(first_over) = members.get(MEMBERS_MAX) {
        let reason = format!("an enum has at most {MEMBERS_MAX} members");
        reporter.report(Code::TooMany, first_over.span, reason);
    }
    for member in members.iter().take(MEMBERS_MAX) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if !member.text.chars().all(is_plain) || member.text.len() > MEMBER_LENGTH_MAX {
            let reason = format!("`{}` cannot be a member of an enum", member.text);
            let help = "a member is at most 60 letters from a to z, digits, `_` and `-`";
            reporter.push(Report::new(Code::BadEnum, member.span, reason).help(help));
        } else if found.contains(&member.text) {
            let reason = format!("duplicate member `{}`", member.text);
            reporter.report(Code::BadEnum, member.span, reason);
        } else {
            found.push(member.text.clone());
        }
    }
    found
}

fn default_of(
    default: &DeclaredDefault,
    of: &FieldType,
    reporter: &mut Reporter<'_>,
) -> Option<DefaultValue> {
    let bare = default.kind == DefaultKind::Bare;
    if bare && matches!(of, FieldType::Time) && default.word.text == "now" {
        return Some(DefaultValue::Now);
    }
    if matches!(of, FieldType::Any | FieldType::Bytes(_) | FieldType::Ref(..)) {
        let reason = format!("a field of type `{}` cannot have a default", of.name());
        let help = "make it optional with `?`, or leave the default out";
        reporter.push(Report::new(Code::NoDefault, default.word.span, reason).help(help));
        return None;
    }
    let literal = literal::of_default(default, of);
    if literal.is_none() {
        let InvalidLiteral { reason, help } = InvalidLiteral::new(&default.written(), of);
        reporter.push(Report::new(Code::BadDefault, default.word.span, reason).help(help));
    }
    literal.map(DefaultValue::Literal)
}
