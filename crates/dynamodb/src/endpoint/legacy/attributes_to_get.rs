//! `AttributesToGet`: whole attributes to return, by their names.

use std::collections::BTreeSet;

use keyloom_value::Projection;

use crate::endpoint::params::Params;
use crate::endpoint::violations::Violations;
use crate::wire::Fault;

/// `AttributesToGet`, as sent.
pub(crate) struct AttributesToGet<'a> {
    names: Option<Vec<&'a str>>,
}

impl<'a> AttributesToGet<'a> {
    pub(crate) const PARAMETER: &'static str = "AttributesToGet";

    pub(crate) fn read(params: &Params<'a>) -> Result<AttributesToGet<'a>, Fault> {
        Ok(AttributesToGet { names: params.texts(AttributesToGet::PARAMETER)? })
    }

    pub(crate) fn names(&self) -> Option<&[&'a str]> {
        self.names.as_deref()
    }

    pub(crate) fn violations(&self, at: &str, violations: &mut Violations) {
        if let Some(names) = &self.names {
            let shown = if (1..=255).contains(&names.len()) { vec![] } else { names.clone() };
            let value = format!("'[{}]'", shown.join(", "));
            violations.length(at, value, names.len(), 1..=255);
        }
    }

    /// Returns the projection. A name is never a path: `a.b` is an attribute with a dot.
    pub(crate) fn projection(self) -> Result<Option<Projection>, Fault> {
        let Some(names) = self.names else { return Ok(None) };
        let mut seen = BTreeSet::new();
        match names.iter().find(|name| !seen.insert(**name)) {
            Some(twice) => {
                Err(Fault::parameter(format!("Duplicate value in attribute name: {twice}")))
            }
            None => Ok(Some(Projection::names(names))),
        }
    }
}
