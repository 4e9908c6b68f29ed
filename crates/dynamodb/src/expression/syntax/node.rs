//! What can be written.

use keyloom_value::Comparison;

/// A document path with its placeholders.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::expression) struct RawPath<'a> {
    /// A word, or a placeholder with its `#`.
    pub(in crate::expression) root: &'a str,
    pub(in crate::expression) steps: Vec<RawStep<'a>>,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::expression) enum RawStep<'a> {
    /// A word, or a placeholder with its `#`.
    Member(&'a str),
    Element(usize),
}

/// A sum or a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::expression) enum Arithmetic {
    Plus,
    Minus,
}

/// Anything that can be part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::expression) enum Node<'a> {
    Path(RawPath<'a>),
    /// A placeholder with its `:`.
    Value(&'a str),
    Function {
        name: &'a str,
        arguments: Vec<Node<'a>>,
    },
    Compare(Box<[Node<'a>; 2]>, Comparison),
    Between(Box<[Node<'a>; 3]>),
    In(Box<Node<'a>>, Vec<Node<'a>>),
    And(Vec<Node<'a>>),
    Or(Vec<Node<'a>>),
    Not(Box<Node<'a>>),
    Arithmetic(Box<[Node<'a>; 2]>, Arithmetic),
}

impl<'a> Node<'a> {
    /// Whether it can stand beside a sign, or be an argument.
    pub(in crate::expression) fn is_operand(&self) -> bool {
        match self {
            Node::Path(_) | Node::Value(_) | Node::Function { .. } | Node::Arithmetic(..) => true,
            Node::Compare(..)
            | Node::Between(_)
            | Node::In(..)
            | Node::And(_)
            | Node::Or(_)
            | Node::Not(_) => false,
        }
    }

    /// Whether it can hold or not hold.
    pub(in crate::expression) fn is_condition(&self) -> bool {
        !self.is_operand() || matches!(self, Node::Function { .. })
    }

    /// The nodes directly inside.
    pub(in crate::expression) fn children(&self) -> Vec<&Node<'a>> {
        match self {
            Node::Path(_) | Node::Value(_) => vec![],
            Node::Function { arguments, .. } => arguments.iter().collect(),
            Node::Compare(pair, _) | Node::Arithmetic(pair, _) => pair.iter().collect(),
            Node::Between(parts) => parts.iter().collect(),
            Node::In(operand, choices) => {
                std::iter::once(&**operand).chain(choices.iter()).collect()
            }
            Node::And(parts) | Node::Or(parts) => parts.iter().collect(),
            Node::Not(inner) => vec![inner],
        }
    }

    /// Shows every node, itself first, from left to right, until one is refused.
    pub(in crate::expression) fn walk<E>(
        &self,
        check: &mut impl FnMut(&Node<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        check(self)?;
        self.children().into_iter().try_for_each(|child| child.walk(check))
    }
}
