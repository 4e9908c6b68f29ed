//! The syntax tree.

use std::borrow::Cow;

use keyloom_value::Comparison;

use super::position::Position;

/// A statement.
#[derive(Clone, Debug)]
pub(super) enum Statement<'a> {
    Select(RawSelect<'a>),
    /// `EXISTS(SELECT …)`, a condition check of a transaction.
    Exists(RawSelect<'a>),
    Insert(RawInsert<'a>),
    Update(RawUpdate<'a>),
    Delete(RawDelete<'a>),
}

/// The name of a table, or of a table and an index; more is an error later.
pub(super) type Source<'a> = Vec<Cow<'a, str>>;

#[derive(Clone, Debug)]
pub(super) struct RawSelect<'a> {
    /// Empty for `*`.
    pub(super) columns: Vec<Expr<'a>>,
    pub(super) from: Source<'a>,
    pub(super) filter: Option<Expr<'a>>,
    pub(super) order: Vec<RawOrder<'a>>,
}

#[derive(Clone, Debug)]
pub(super) struct RawOrder<'a> {
    pub(super) term: Expr<'a>,
    pub(super) is_descending: bool,
}

#[derive(Clone, Debug)]
pub(super) struct RawInsert<'a> {
    pub(super) into: Source<'a>,
    pub(super) value: Expr<'a>,
    pub(super) is_returning: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct RawUpdate<'a> {
    pub(super) table: Source<'a>,
    pub(super) set: Vec<(RawPath<'a>, Expr<'a>)>,
    pub(super) remove: Vec<RawPath<'a>>,
    pub(super) filter: Option<Expr<'a>>,
    pub(super) returning: Option<RawReturning>,
}

#[derive(Clone, Debug)]
pub(super) struct RawDelete<'a> {
    pub(super) from: Source<'a>,
    pub(super) filter: Option<Expr<'a>>,
    pub(super) returning: Option<RawReturning>,
}

/// `RETURNING (ALL | MODIFIED) (OLD | NEW) *`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawReturning {
    pub(super) is_modified: bool,
    pub(super) is_new: bool,
}

/// A document path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawPath<'a> {
    pub(super) root: Cow<'a, str>,
    pub(super) steps: Vec<RawStep<'a>>,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RawStep<'a> {
    Member(Cow<'a, str>),
    Element(usize),
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Expr<'a> {
    pub(super) kind: ExprKind<'a>,
    /// Where its first token is.
    pub(super) at: Position,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind<'a> {
    Path(RawPath<'a>),
    Text(Cow<'a, str>),
    /// With its sign.
    Number(String),
    Bool(bool),
    Null,
    Missing,
    /// Its position among the parameters, from 0.
    Parameter(usize),
    List(Vec<Expr<'a>>),
    Bag(Vec<Expr<'a>>),
    Map(Vec<(Expr<'a>, Expr<'a>)>),
    Call {
        /// In lower case.
        name: String,
        arguments: Vec<Expr<'a>>,
    },
    Compare(Box<[Expr<'a>; 2]>, Comparison),
    Between(Box<[Expr<'a>; 3]>),
    In(Box<Expr<'a>>, Vec<Expr<'a>>),
    Is(Box<Expr<'a>>, TypeTest),
    And(Vec<Expr<'a>>),
    Or(Vec<Expr<'a>>),
    Not(Box<Expr<'a>>),
    Arithmetic(Box<[Expr<'a>; 2]>, Arithmetic),
    /// The negation of something that is not a number.
    Negated,
}

/// What `IS` tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypeTest {
    Missing,
    Type(keyloom_value::ValueType),
    /// A type of PartiQL that DynamoDB does not have.
    Unsupported(&'static str),
}

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Plus,
    Minus,
}

impl Arithmetic {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Arithmetic::Plus => "+",
            Arithmetic::Minus => "-",
        }
    }
}
