//! What the author wrote: raw types, every name and value with its span. Nothing here has been
//! checked against the rest of the file.

use crate::parse::Node;
use crate::source::{Span, Word};

/// A whole file.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    pub(crate) entities: Vec<DeclaredEntity>,
    pub(crate) handlers: Vec<DeclaredHandler>,
    /// `jobs = true`: the model has jobs even without handlers.
    pub(crate) jobs: bool,
    /// `renamed.ENTITY = "EARLIER NAME"`.
    pub(crate) renamed: Vec<(Word, Word)>,
}

/// `[entity.NAME]`.
#[derive(Debug)]
pub(crate) struct DeclaredEntity {
    pub(crate) name: Word,
    pub(crate) path: Option<Word>,
    pub(crate) parent: Option<Word>,
    pub(crate) on_parent_delete: Option<Word>,
    pub(crate) id: Option<Word>,
    pub(crate) tenant: Option<Word>,
    pub(crate) expires: Option<Word>,
    pub(crate) updated: Option<Word>,
    pub(crate) read_only: Vec<Word>,
    pub(crate) access: Option<DeclaredAccess>,
    pub(crate) filters: Vec<Word>,
    pub(crate) shards: Option<Node>,
    pub(crate) reference_shards: Option<Node>,
    pub(crate) fields: Vec<DeclaredField>,
    pub(crate) formats: Vec<DeclaredFormat>,
    pub(crate) patterns: Vec<DeclaredPattern>,
    pub(crate) initials: Vec<DeclaredInitial>,
    pub(crate) transitions: Vec<DeclaredTransitions>,
    pub(crate) sequences: Vec<DeclaredSequence>,
    /// `renamed.FIELD = "EARLIER NAME"`.
    pub(crate) renamed: Vec<(Word, Word)>,
    pub(crate) removed: Vec<Word>,
    pub(crate) uniques: Vec<DeclaredUnique>,
    pub(crate) lists: Vec<DeclaredList>,
    pub(crate) counts: Vec<DeclaredCount>,
    pub(crate) boards: Vec<DeclaredBoard>,
    pub(crate) tags: Vec<DeclaredTags>,
    pub(crate) searches: Vec<DeclaredSearch>,
}

/// `access`. Rules that are not declared are empty.
#[derive(Debug)]
pub(crate) struct DeclaredAccess {
    pub(crate) owner: Option<Word>,
    pub(crate) read: Vec<Word>,
    pub(crate) create: Vec<Word>,
    pub(crate) update: Vec<Word>,
    pub(crate) delete: Vec<Word>,
}

/// `fields.NAME = "SPEC"`.
#[derive(Debug)]
pub(crate) struct DeclaredField {
    pub(crate) name: Word,
    /// `None` if it has errors; the name still counts as declared.
    pub(crate) spec: Option<FieldSpec>,
}

/// The parsed text of a field.
#[derive(Debug)]
pub(crate) struct FieldSpec {
    pub(crate) of: DeclaredType,
    /// The span of the question mark.
    pub(crate) optional: Option<Span>,
    pub(crate) range: Option<DeclaredRange>,
    pub(crate) default: Option<DeclaredDefault>,
}

/// A type as written.
#[derive(Debug)]
pub(crate) struct DeclaredType {
    pub(crate) kind: TypeKind,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum TypeKind {
    Text,
    Int,
    Number,
    Bool,
    Time,
    Bytes,
    Any,
    Tags,
    Enum(Vec<Word>),
    Ref { entity: Word, rule: Option<Word> },
    List(Option<Box<DeclaredType>>),
    Map(Option<Box<DeclaredType>>),
}

/// `low..high`.
#[derive(Debug)]
pub(crate) struct DeclaredRange {
    pub(crate) low: Option<Word>,
    pub(crate) high: Option<Word>,
    pub(crate) span: Span,
}

/// What follows `=`.
#[derive(Debug)]
pub(crate) struct DeclaredDefault {
    pub(crate) kind: DefaultKind,
    pub(crate) word: Word,
}

impl DeclaredDefault {
    /// The default in the text of the file.
    pub(crate) fn written(&self) -> String {
        let text = self.word.text.as_str();
        match self.kind {
            DefaultKind::Quoted => format!("'{text}'"),
            DefaultKind::Bare | DefaultKind::EmptyList | DefaultKind::EmptyMap => text.to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultKind {
    Bare,
    Quoted,
    EmptyList,
    EmptyMap,
}

/// `format.FIELD = ...`.
#[derive(Debug)]
pub(crate) struct DeclaredFormat {
    pub(crate) field: Word,
    pub(crate) choice: DeclaredFormatChoice,
}

/// `"FORMAT"`, or an enum field and the formats of its members.
#[derive(Debug)]
pub(crate) enum DeclaredFormatChoice {
    Always(Word),
    By(Word, Vec<(Word, Word)>),
}

/// `pattern.FIELD = "REGULAR EXPRESSION"`.
#[derive(Debug)]
pub(crate) struct DeclaredPattern {
    pub(crate) field: Word,
    pub(crate) pattern: Word,
}

/// `sequence.FIELD = [...]`.
#[derive(Debug)]
pub(crate) struct DeclaredSequence {
    pub(crate) field: Word,
    pub(crate) by: Vec<Word>,
}

/// `initial.FIELD = ["MEMBER", ...]`.
#[derive(Debug)]
pub(crate) struct DeclaredInitial {
    pub(crate) field: Word,
    pub(crate) members: Vec<Word>,
}

/// `transitions.FIELD = { MEMBER = ["MEMBER", ...], ... }`.
#[derive(Debug)]
pub(crate) struct DeclaredTransitions {
    pub(crate) field: Word,
    pub(crate) allowed: Vec<(Word, Vec<Word>)>,
}

/// One entry of `unique`.
#[derive(Debug)]
pub(crate) struct DeclaredUnique {
    pub(crate) span: Span,
    pub(crate) fields: Vec<Word>,
    pub(crate) within: Option<Word>,
    /// The span of `true`.
    pub(crate) fold_case: Option<Span>,
}

/// `[entity.NAME.list.NAME]`.
#[derive(Debug)]
pub(crate) struct DeclaredList {
    pub(crate) name: Word,
    pub(crate) path: Option<Word>,
    pub(crate) by: Vec<Word>,
    pub(crate) order: Vec<Word>,
    pub(crate) filter: Vec<DeclaredTest>,
    pub(crate) facets: Vec<Word>,
    pub(crate) access: Vec<Word>,
    pub(crate) shards: Option<Node>,
}

/// One `field = value` of `where`.
#[derive(Debug)]
pub(crate) struct DeclaredTest {
    pub(crate) field: Word,
    pub(crate) value: Node,
}

/// `[entity.NAME.count.NAME]`.
#[derive(Debug)]
pub(crate) struct DeclaredCount {
    pub(crate) name: Word,
    pub(crate) path: Option<Word>,
    pub(crate) by: Vec<Word>,
    pub(crate) split: Vec<Word>,
    /// The unit.
    pub(crate) window: Option<Word>,
    pub(crate) of: Option<Word>,
    pub(crate) zone: Option<Word>,
    pub(crate) sums: Vec<Word>,
    pub(crate) min: Vec<Word>,
    pub(crate) max: Vec<Word>,
    pub(crate) filter: Vec<DeclaredTest>,
    pub(crate) access: Vec<Word>,
    pub(crate) shards: Option<Node>,
}

/// `[entity.NAME.board.NAME]`.
#[derive(Debug)]
pub(crate) struct DeclaredBoard {
    pub(crate) name: Word,
    pub(crate) of: Option<Word>,
    pub(crate) rank: Option<Word>,
    pub(crate) by: Vec<Word>,
    pub(crate) filter: Vec<DeclaredTest>,
    pub(crate) access: Vec<Word>,
    pub(crate) shards: Option<Node>,
}

/// `[entity.NAME.search.NAME]`.
#[derive(Debug)]
pub(crate) struct DeclaredSearch {
    pub(crate) name: Word,
    pub(crate) fields: Vec<Word>,
    pub(crate) language: Option<Word>,
    pub(crate) has_prefixes: bool,
}

/// `[entity.NAME.tags.FIELD]`.
#[derive(Debug)]
pub(crate) struct DeclaredTags {
    pub(crate) field: Word,
    pub(crate) combine: Vec<DeclaredCombination>,
}

/// One entry of `combine`.
#[derive(Debug)]
pub(crate) struct DeclaredCombination {
    pub(crate) keys: Vec<Word>,
    pub(crate) span: Span,
}

/// `on.ENTITY.CHANGE = TARGET`.
#[derive(Debug)]
pub(crate) struct DeclaredHandler {
    pub(crate) entity: Word,
    pub(crate) change: Word,
    pub(crate) target: DeclaredTarget,
}

/// What is called: `"NAME"`, `{ webhook = "URL" }` or `{ job = "KIND" }`.
#[derive(Debug)]
pub(crate) enum DeclaredTarget {
    Handler(Word),
    Webhook(Word),
    Job(Word),
}
