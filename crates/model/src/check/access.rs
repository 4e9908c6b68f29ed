//! Access rules: whom they name, and whether every query can keep them. A query that callers may only see
//! a part of must be limited to that part by one of its own fields, so that it reads nothing else.

use crate::declared::{DeclaredAccess, DeclaredEntity};
use crate::error::{Code, Report, Reporter};
use crate::model::{
    Access, Entity, FieldAccess, FieldId, FieldOrigin, FieldType, Grantees, IdSource,
};
use crate::source::Word;

use super::scope::Scope;

/// Roles of tokens, which rules do not limit.
const BUILT_IN: [&str; 3] = ["reader", "writer", "admin"];
const EVERYONE: &str = "everyone";
const OWNER: &str = "owner";
const PARENT: &str = "parent";
/// Maximum length of the name of a role.
const ROLE_LENGTH_MAX: usize = 60;

/// Checks the rules of an entity, and adds them to it and to its queries.
pub(crate) fn apply(
    declared: &DeclaredEntity,
    entity: &mut Entity,
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) {
    let rules = declared.access.as_ref();
    let owner = rules.and_then(|rules| owner(rules, entity, scope, reporter));
    let terms = Terms { owner, is_child: entity.parent.is_some() };
    if let Some(rules) = rules {
        entity.access = Access {
            owner,
            read: terms.grantees(&rules.read, reporter),
            create: terms.grantees(&rules.create, reporter),
            update: terms.grantees(&rules.update, reporter),
            delete: terms.grantees(&rules.delete, reporter),
        };
    }
    let read = entity.access.read.clone();
    let queries = Queries { terms, scope, parent: entity.parent, read };
    for (list, declared) in entity.lists.iter_mut().zip(&declared.lists) {
        let fields = [&list.by[..], &list.facets].concat();
        let limits = Limits { what: "list", keys: "`by` or `facets`", by: &list.by, fields };
        list.readers = queries.readers(&declared.name, &declared.access, &limits, reporter);
    }
    for (count, declared) in entity.counts.iter_mut().zip(&declared.counts) {
        let fields = [&count.by[..], &count.split].concat();
        let limits = Limits { what: "count", keys: "`by` or `split`", by: &count.by, fields };
        count.readers = queries.readers(&declared.name, &declared.access, &limits, reporter);
    }
    for board in &mut entity.boards {
        let declared = declared.boards.iter().find(|declared| declared.name.text == board.name);
        let Some(declared) = declared else { continue };
        let fields = board.by.clone();
        let limits = Limits { what: "board", keys: "`by`", by: &board.by, fields };
        board.readers = queries.readers(&declared.name, &declared.access, &limits, reporter);
    }
}

/// The field with the owner of an entity: what it holds is compared with the subject of a token.
fn owner(
    declared: &DeclaredAccess,
    entity: &Entity,
    scope: &Scope,
    reporter: &mut Reporter<'_>,
) -> Option<FieldId> {
    let word = declared.owner.as_ref()?;
    let id = scope.find(word, reporter)?;
    let scoped = &scope.fields[id.index()];
    let name = &word.text;
    let is_generated =
        scoped.field.origin == FieldOrigin::Id && entity.id_source == IdSource::Generated;
    let is_read_only = entity.field(id).access == FieldAccess::ReadOnly;
    let report = match &scoped.field.of {
        _ if !scoped.is_valid => return Some(id),
        _ if is_read_only => {
            let reason = format!("`{name}` cannot be the owner: it is read-only");
            let help = "remove it from `read_only`: rules decide who may set it";
            Report::new(Code::BadAccess, word.span, reason).help(help)
        }
        _ if is_generated => Report::new(
            Code::BadAccess,
            word.span,
            "`id` cannot be the owner: Keyloom generates it",
        )
        .help("declare `id = \"given\"`, or name a field that holds the owner"),
        FieldType::Text(_) | FieldType::Ref(..) => return Some(id),
        of => {
            let reason = format!("`{name}` cannot be the owner: its type is `{}`", of.name());
            let help = "name a field of type `text` or `ref`: it holds the subject of a token";
            Report::new(Code::BadAccess, word.span, reason).help(help)
        }
    };
    reporter.push(report);
    Some(id)
}

/// What the words of a rule can refer to.
#[derive(Clone, Copy)]
struct Terms {
    owner: Option<FieldId>,
    is_child: bool,
}

impl Terms {
    fn grantees(&self, words: &[Word], reporter: &mut Reporter<'_>) -> Grantees {
        let mut grantees = Grantees::default();
        for word in words {
            let is_new = match word.text.as_str() {
                EVERYONE => !std::mem::replace(&mut grantees.everyone, true),
                OWNER => !std::mem::replace(&mut grantees.owner, true),
                PARENT => !std::mem::replace(&mut grantees.parent, true),
                role => grantees.roles.insert(role.to_owned()),
            };
            if let Some((reason, help)) = self.refusal(&word.text) {
                reporter.push(Report::new(Code::BadAccess, word.span, reason).help(help));
            } else if !is_new {
                let reason = format!("`{}` is named twice", word.text);
                let help = "leave one of them out";
                reporter.push(Report::new(Code::SameTwice, word.span, reason).help(help));
            }
        }
        grantees
    }

    /// Why a rule cannot name this, and what to do.
    fn refusal(&self, word: &str) -> Option<(String, &'static str)> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte);
        match word {
            OWNER if self.owner.is_none() => Some((
                "a rule names `owner`, and the entity has none".to_owned(),
                "name the field that holds the owner: `access.owner = \"FIELD\"`",
            )),
            PARENT if !self.is_child => Some((
                "a rule names `parent`, and the entity has none".to_owned(),
                "name `owner`, `everyone` or a role",
            )),
            EVERYONE | OWNER | PARENT => None,
            _ if BUILT_IN.contains(&word) => Some((
                format!("a rule names the role `{word}`, which rules do not limit"),
                "leave it out, or choose another name for a role of your own",
            )),
            _ if word.is_empty() || word.len() > ROLE_LENGTH_MAX || !word.bytes().all(is_plain) => {
                Some((
                    format!("`{word}` cannot be a role"),
                    "a role has 1 to 60 ASCII letters, digits and `_-.:/`",
                ))
            }
            _ => None,
        }
    }
}

/// Whom queries admit unless they say something else.
struct Queries<'s> {
    terms: Terms,
    scope: &'s Scope,
    parent: Option<FieldId>,
    read: Grantees,
}

/// The fields by which a query can be limited to a part of its entities.
struct Limits<'q> {
    what: &'static str,
    /// The keys that name them.
    keys: &'static str,
    by: &'q [FieldId],
    fields: Vec<FieldId>,
}

impl Queries<'_> {
    fn readers(
        &self,
        name: &Word,
        access: &[Word],
        limits: &Limits<'_>,
        reporter: &mut Reporter<'_>,
    ) -> Grantees {
        let readers = match access {
            [] => self.read.clone(),
            access => self.terms.grantees(access, reporter),
        };
        let unowned = self.terms.owner.filter(|owner| !limits.fields.contains(owner));
        if let Some(owner) = unowned.filter(|_| readers.owner && !readers.everyone) {
            self.report_unbounded(name, limits.what, "owners", owner, limits.keys, reporter);
        }
        let of_any = self.parent.filter(|parent| !limits.by.contains(parent));
        if let Some(parent) = of_any.filter(|_| readers.parent && !readers.everyone) {
            self.report_unbounded(name, limits.what, "one parent", parent, "`by`", reporter);
        }
        readers
    }

    fn report_unbounded(
        &self,
        name: &Word,
        what: &str,
        part: &str,
        field: FieldId,
        keys: &str,
        reporter: &mut Reporter<'_>,
    ) {
        let (text, field) = (&name.text, &self.scope.field(field).name);
        let reason = format!("the {what} `{text}` cannot be limited to the entities of {part}");
        let help = format!(
            "add `{field}` to its {keys}, or say who may read all of it, such as \
             `access = [\"everyone\"]`"
        );
        reporter.push(Report::new(Code::UnboundedAccess, name.span, reason).help(help));
    }
}
