//! Successful responses of operations.

use keyloom_model::{EntityId, Model};
use serde_json::{Value as Json, json};

use super::super::call::JSON;
use super::super::example;
use super::entity::{reference, shown_or_part};
use super::headers::AnswerHeader;

/// A response that is not a problem.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) about: &'static str,
    /// Empty if there is no body.
    pub(crate) media_type: &'static str,
    pub(crate) schema: Option<Json>,
    pub(crate) headers: Vec<AnswerHeader>,
    pub(crate) example: Option<Json>,
    /// Whether it can be followed with `live`, as a stream of events.
    pub(crate) is_live: bool,
}

impl Answer {
    pub(crate) fn empty(status: u16, about: &'static str) -> Answer {
        let headers = vec![AnswerHeader::RequestId];
        Answer {
            status,
            about,
            media_type: "",
            schema: None,
            headers,
            example: None,
            is_live: false,
        }
    }

    pub(crate) fn json(status: u16, about: &'static str, schema: Json) -> Answer {
        Answer { media_type: JSON, schema: Some(schema), ..Answer::empty(status, about) }
    }

    pub(crate) fn with(mut self, headers: &[AnswerHeader]) -> Answer {
        self.headers.extend(headers);
        self
    }

    pub(crate) fn with_example(mut self, example: Json) -> Answer {
        self.example = Some(example);
        self
    }

    /// An entity.
    pub(crate) fn entity(model: &Model, id: EntityId, status: u16, about: &'static str) -> Answer {
        let entity = model.entity(id);
        let example = example::shown(model, entity);
        Answer::json(status, about, reference(entity, "")).with_example(example)
    }

    /// An entity, or the fields of it that were requested.
    pub(crate) fn read(model: &Model, id: EntityId) -> Answer {
        let entity = model.entity(id);
        let example = example::shown(model, entity);
        Answer::json(200, "The entity.", shown_or_part(entity)).with_example(example)
    }

    /// An entity that was created.
    pub(crate) fn created(model: &Model, id: EntityId) -> Answer {
        use AnswerHeader::{ETag, Location, Replayed};
        Answer::entity(model, id, 201, "Created.").with(&[ETag, Location, Replayed])
    }

    /// A page of entities.
    pub(crate) fn page(model: &Model, id: EntityId) -> Answer {
        let entity = model.entity(id);
        let example = json!({ "items": [example::shown(model, entity)] });
        Answer::json(200, "A page of entities.", reference(entity, ".page")).with_example(example)
    }

    /// Text other than JSON.
    pub(crate) fn text(media_type: &'static str) -> Answer {
        Answer { media_type, ..Answer::empty(200, "The text.") }
    }

    /// The client has the current version.
    pub(crate) fn not_modified() -> Answer {
        Answer::empty(304, "Not modified.").with(&[AnswerHeader::ETag])
    }

    /// `{"status": STATUS}`.
    pub(crate) fn status(about: &'static str, status: &str) -> Answer {
        let schema = json!({ "type": "object", "properties": { "status": { "type": "string", "const": status } },
                             "required": ["status"], "additionalProperties": false });
        Answer::json(200, about, schema).with_example(json!({ "status": status }))
    }
}
