//! Several changes, and what they return together: tuples and vectors of changes, also of each other.

use keyloom::{Change as Untyped, Record};

use crate::change::{Change, Kind};
use crate::{Entity, Error};

/// The records that a transaction returns, one for each change in their order.
type Records = std::vec::IntoIter<Option<Record>>;

/// Reads what some changes return.
pub type ReadChanges<T> = Box<dyn FnOnce(&mut Records) -> Result<T, Error> + Send>;

/// Changes that one transaction makes: a [`Change`], a vector, an option or a tuple of these.
pub trait Changes: Send + 'static {
    /// What they return: the same with results instead of changes.
    type Output: Send + 'static;

    /// Adds the changes to those of the transaction, and returns how to read what they return.
    fn add_to(self, changes: &mut Vec<Untyped>) -> ReadChanges<Self::Output>;
}

impl<E: Entity, K: Kind> Changes for Change<E, K> {
    type Output = K::Output<E>;

    fn add_to(self, changes: &mut Vec<Untyped>) -> ReadChanges<K::Output<E>> {
        changes.push(self.into_untyped());
        Box::new(|records| K::read::<E>(records.next().flatten().as_ref()))
    }
}

impl<C: Changes> Changes for Vec<C> {
    type Output = Vec<C::Output>;

    fn add_to(self, changes: &mut Vec<Untyped>) -> ReadChanges<Vec<C::Output>> {
        let parts: Vec<_> = self.into_iter().map(|part| part.add_to(changes)).collect();
        Box::new(|records| parts.into_iter().map(|read| read(records)).collect())
    }
}

impl<C: Changes> Changes for Option<C> {
    type Output = Option<C::Output>;

    fn add_to(self, changes: &mut Vec<Untyped>) -> ReadChanges<Option<C::Output>> {
        let part = self.map(|part| part.add_to(changes));
        Box::new(|records| part.map(|read| read(records)).transpose())
    }
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: Changes),+> Changes for ($($name,)+) {
            type Output = ($($name::Output,)+);

            #[allow(non_snake_case, reason = "each part is called as its type is")]
            fn add_to(self, changes: &mut Vec<Untyped>) -> ReadChanges<Self::Output> {
                let ($($name,)+) = self;
                $(let $name = $name.add_to(changes);)+
                Box::new(|records| Ok(($($name(records)?,)+)))
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D F);
tuples!(A B C D F G);
tuples!(A B C D F G H);
tuples!(A B C D F G H I);
