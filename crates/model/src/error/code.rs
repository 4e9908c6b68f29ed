//! The codes of all errors, with what each means. One table; codes are never used again.

use std::fmt;

macro_rules! codes {
    ($($name:ident = $code:literal: $meaning:literal)+) => {
        /// What kind of error it is. The text of an error may get better; its code stays.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = concat!("`", $code, "`: ", $meaning)] $name,)+
        }

        impl Code {
            /// All codes there are, in their order.
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
    TooManyErrors = "K0103": "There are more than 1,000 errors; the others are not told yet."
    UnknownKey = "K0104": "A key means nothing in this place."
    WrongKind = "K0105": "A value is of another kind than the key takes, such as a number for a name."
    MissingKey = "K0106": "A key that must be there is not."
    BadName = "K0107": "A name is not of the form `[a-z][a-z0-9_]*`, or is longer than 60 characters."
    ReservedName = "K0108": "A name has a meaning of its own and cannot be given to a field."
    TooMany = "K0109": "There are more entities, fields or declarations than a model can have."
    NoEntity = "K0110": "The file declares no entity."
    UnknownChoice = "K0111": "A value is not one of the words that the key takes."
    Empty = "K0112": "A list of names is empty."
    DuplicateName = "K0113": "A name is given twice in one place."
    SpecSyntax = "K0201": "A field is not written as `type [?] [range] [= default]`."
    UnknownType = "K0202": "There is no such type."
    TypeTooDeep = "K0203": "Lists and maps are nested more than 8 deep."
    NoRange = "K0204": "The type takes no range."
    BadRange = "K0205": "A bound of a range is not a value of its type, or the range is empty."
    NoDefault = "K0206": "The type takes no default."
    BadDefault = "K0207": "The default is not a value of the field."
    BadEnum = "K0208": "An enum has no members, the same one twice, or one that is no plain word."
    ClearNeedsOptional = "K0209": "A reference that is cleared on deletion is not optional."
    BadElement = "K0210": "Lists and maps cannot hold this type."
    BadReferences = "K0211": "References in a list are not kept or have no upper bound, or a reference of its own is kept."
    UnknownEntity = "K0301": "There is no such entity."
    UnknownField = "K0302": "The entity has no such field."
    ParentCycle = "K0303": "An entity is its own ancestor."
    ParentsTooDeep = "K0304": "Parents and children are nested more than 5 deep."
    ParentFieldClash = "K0305": "A field of a child has the name of its parent, which is taken."
    ChildTenant = "K0306": "A child declares a tenant, but belongs to its parent's."
    BadTenant = "K0307": "The tenant field is optional, or of a type that names no tenant."
    BadExpiry = "K0308": "The field that says when an entity expires is not a time."
    NoParent = "K0309": "A rule about the parent is given, but there is no parent."
    SharedRef = "K0310": "An entity that all tenants share refers to one that a tenant owns."
    BuiltInName = "K0311": "An entity has the name of one that the model has by itself."
    BadReadOnly = "K0312": "A read-only field is the id, the parent or the tenant, or it is required and has no default."
    BadFormat = "K0313": "A format does not fit the members of its enum, or the default of its field."
    BadUse = "K0401": "A field's type does not allow what it is used for."
    SameFieldTwice = "K0402": "A field is named twice where once says it all."
    BadPath = "K0403": "A path is not of the form `/word/{field}/word`."
    BadPlaceholder = "K0404": "A placeholder of a path is not a field of the list's `by`."
    PathTaken = "K0405": "Two things are served under one path."
    BadValue = "K0406": "A value in `where` is not a value of its field."
    SameTwice = "K0407": "Two lists, uniques or combinations say the same."
    NothingToFold = "K0408": "`fold_case` is given, but none of the fields is a text."
    BadBoard = "K0501": "A board has not exactly one of `of` and `rank`."
    BoardTaken = "K0502": "Two boards have one name."
    NotTags = "K0503": "The field is not of the type `tags`."
    BadCombination = "K0504": "A combination has fewer than two tag keys, or the same one twice."
    BadTarget = "K0505": "What is called after a change is not exactly one of a name, a webhook and a job, or its address is none."
    BadShards = "K0506": "A count is spread over a number of rows that is not from 2 to 100."
    TooManyRows = "K0601": "One change could touch more rows than a transaction can have."
    TooManyIndexes = "K0602": "The lists of an entity need more indexes than a table can have."
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
