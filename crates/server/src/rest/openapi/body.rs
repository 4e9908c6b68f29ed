//! Request bodies of operations.

use serde_json::Value as Json;

use super::super::call::JSON;

/// The request body of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) media_types: Vec<&'static str>,
    pub(crate) is_required: bool,
    pub(crate) schema: Json,
    pub(crate) example: Option<Json>,
}

impl Body {
    pub(crate) fn json(schema: Json, example: Option<Json>) -> Body {
        Body { media_types: vec![JSON], is_required: true, schema, example }
    }
}
