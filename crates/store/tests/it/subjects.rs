//! The stores under test. A new store is added here, and nowhere else.

use keyloom_testkit::{ReferenceSubject, Subject};

/// Makes a fresh subject.
pub(crate) type Make = fn() -> Box<dyn Subject>;

/// Every store that must pass the suite and answer histories like the reference.
pub(crate) const STORES: &[(&str, Make)] = &[("reference", reference)];

/// The store that the others are compared with.
pub(crate) fn reference() -> Box<dyn Subject> {
    Box::new(ReferenceSubject::new())
}
