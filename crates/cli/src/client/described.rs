//! An operation as an OpenAPI document describes it.

use serde_json::Value as Json;

/// An operation of the document.
pub(super) struct Described<'d> {
    pub(super) group: &'d str,
    pub(super) http: String,
    pub(super) path: &'d str,
    pub(super) json: &'d Json,
}
