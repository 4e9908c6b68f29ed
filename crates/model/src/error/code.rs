//! The codes of all errors, with their meanings. One table; codes are never reused.

use std::fmt;

macro_rules! codes {
    ($($name:ident = $code:literal: $meaning:literal)+) => {
        /// The kind of an error. Messages may be reworded; codes never change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = concat!("`", $code, "`: ", $meaning)] $name,)+
        }

        impl Code {
            /// All codes, in order.
            pub const ALL: &[Code] = &[$(Code::$name),+];

            /// The code itself, such as `K0302`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $code),+ }
            }

            /// What it means, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$name => $meaning),+ }
            }
        }
    };
}

codes! {
    Syntax = "K0101": "The file is not TOML."
    FileTooLarge = "K0102": "The file is larger than 1 MiB."
    TooManyErrors = "K0103": "More than 1,000 errors; the rest are not reported."
    UnknownKey = "K0104": "Unknown key."
    WrongKind = "K0105": "A value has the wrong type for its key, such as a number for a name."
    MissingKey = "K0106": "A required key is missing."
    BadName = "K0107": "A name is not of the form `[a-z][a-z0-9_]*`, or is longer than 60 characters."
    ReservedName = "K0108": "A reserved name is used for a field."
    TooMany = "K0109": "The model has too many entities, fields or declarations."
    NoEntity = "K0110": "The file declares no entity."
    UnknownChoice = "K0111": "A value is not one of the possible values of its key."
    Empty = "K0112": "A list of names is empty."
    DuplicateName = "K0113": "A name is declared twice."
    SpecSyntax = "K0201": "A field is not written as `type [?] [range] [= default]`."
    UnknownType = "K0202": "Unknown type."
    TypeTooDeep = "K0203": "Lists and maps are nested more than 8 deep."
    NoRange = "K0204": "The type cannot have a range."
    BadRange = "K0205": "A bound of a range is not valid for its type, or the range is empty."
    NoDefault = "K0206": "The type cannot have a default."
    BadDefault = "K0207": "The default is not a valid value for the field."
    BadEnum = "K0208": "An enum has no members, a duplicate member, or a member that is not a plain word."
    ClearNeedsOptional = "K0209": "A reference that is cleared on deletion is not optional."
    BadElement = "K0210": "Lists and maps cannot hold this type."
    BadReferences = "K0211": "A list of references lacks `keep` or an upper bound, or a single reference has `keep`."
    UnknownEntity = "K0301": "Unknown entity."
    UnknownField = "K0302": "The entity has no such field."
    ParentCycle = "K0303": "An entity is its own ancestor."
    ParentsTooDeep = "K0304": "Parents and children are nested more than 5 deep."
    ParentFieldClash = "K0305": "A field of a child has the name of its parent, which is reserved for the parent's id."
    ChildTenant = "K0306": "A child declares a tenant; it belongs to the tenant of its parent."
    BadTenant = "K0307": "The tenant field is optional, or its type cannot identify a tenant."
    BadExpiry = "K0308": "The field that says when an entity expires is not a time."
    NoParent = "K0309": "A rule about the parent is declared, but the entity has no parent."
    SharedRef = "K0310": "An entity shared by all tenants refers to one that belongs to a tenant."
    BuiltInName = "K0311": "An entity has the name of a built-in one."
    BadReadOnly = "K0312": "A read-only field is the id, the parent or the tenant, or is required and has no default."
    BadFormat = "K0313": "A format does not fit the members of its enum, or the default of its field."
    BadUpdated = "K0314": "The field for the time of the last change is not declared as `time = now`."
    BadPattern = "K0315": "A pattern is not a supported regular expression, is too large, does not match the default of its field, or is beside a format."
    BadTransition = "K0316": "A transition or an initial value is not a member of its enum, the field is optional, or its default is not an initial value."
    BadMove = "K0317": "An earlier name in `renamed` or `removed` is that of a field or an entity, or is given twice."
    BadSequence = "K0318": "An entity has two sequences, the field of one has a range or a default, or one is by an optional field."
    BadAccess = "K0319": "An access rule names an owner or a parent that the entity lacks, a built-in role or an invalid one, or the owner is neither a `text` nor a `ref`."
    UnboundedAccess = "K0320": "A list, count or board cannot be limited to the entities that its readers may see."
    BadUse = "K0401": "A field's type does not allow what it is used for."
    SameFieldTwice = "K0402": "A field is named twice in one declaration."
    BadPath = "K0403": "A path is not of the form `/word/{field}/word`."
    BadPlaceholder = "K0404": "A placeholder of a path is not a field of the list's `by`."
    PathTaken = "K0405": "Two resources have the same path."
    BadValue = "K0406": "A value in `where` is not valid for its field."
    SameTwice = "K0407": "Two lists, uniques or combinations are equal."
    NothingToFold = "K0408": "`fold_case` is given, but none of the fields is a text."
    BadBoard = "K0501": "A board needs exactly one of `of` and `rank`."
    BoardTaken = "K0502": "Two boards have the same name."
    NotTags = "K0503": "The field is not of the type `tags`."
    BadCombination = "K0504": "A combination has fewer than two tag keys, or the same one twice."
    BadTarget = "K0505": "A change needs exactly one of a handler, a webhook and a job, and a webhook needs a valid URL."
    BadShards = "K0506": "The number of shards is out of range, or declared where there are none."
    BadWindow = "K0507": "The windows of a count have an unknown unit, no time, or a time zone that does not exist."
    TooManyRows = "K0601": "One write could touch more rows than a transaction can hold."
    TooManyIndexes = "K0602": "The entity needs more indexes than a table can have."
    BadRate = "K0701": "A rate of a workload is not a number from 0 to 1,000,000."
    UnknownQuery = "K0702": "A workload reads a query that the model does not declare."
    BadDraw = "K0703": "A workload does not say how to draw values of a field, or not in a way that its type allows."
    NoRates = "K0704": "A workload has no rate above 0."
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
