//! The syntax tree.

use keyloom_value::Comparison;

/// A document path, with unresolved placeholders.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::expression) struct RawPath<'a> {
    /// A word, or a placeholder including its `#`.
    pub(in crate::expression) root: &'a str,
    pub(in crate::expression) steps: Vec<RawStep<'a>>,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::expression) enum RawStep<'a> {
    /// A word, or a placeholder including its `#`.
    Member(&'a str),
    Element(usize),
}

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::expression) enum Arithmetic {
    Plus,
    Minus,
}

/// A part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::expression) enum Node<'a> {
    Path(RawPath<'a>),
    /// A placeholder including its `:`.
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
    /// Returns whether it can be compared or be an argument.
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

    /// Returns whether it can be a condition.
    pub(in crate::expression) fn is_condition(&self) -> bool {
        !self.is_operand() || matches!(self, Node::Function { .. })
    }

    /// Returns its direct children.
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

    /// Visits every node in pre-order until a check fails.
    pub(in crate::expression) fn walk<E>(
        &self,
        check: &mut impl FnMut(&Node<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        check(self)?;
        self.children().into_iter().try_for_each(|child| child.walk(check))
    }
}
