//! Descriptions of operations, for the OpenAPI 3.1 document and for the API reference.

mod answer;
mod backup;
mod body;
mod bulk;
mod change;
mod component;
mod cost;
mod count;
mod describe;
mod description;
mod document;
mod entity;
mod field;
mod headers;
mod links;
mod model_schema;
mod parameter;
mod problem_schema;
mod problems;
mod related;
mod security;
mod sentence;
mod token;
mod verify;
mod who;

pub(super) use answer::Answer;
pub(super) use backup::backup_list;
pub(super) use body::Body;
pub(super) use bulk::bulk_operations;
pub(super) use change::change_page;
pub(super) use component::component;
pub(super) use cost::{explained, explained_change};
pub(super) use count::CountSchema;
pub(super) use describe::{Described, describe};
pub(super) use description::{Description, Group, PathValue, PathValues, TakenId};
pub(super) use document::document;
pub(super) use entity::{or_named, reference, shown_or_part};
pub(super) use field::{Form, any_object, any_value, id, object, one_text, schema, with};
pub(super) use headers::{AnswerHeader, header, if_changed, if_match, version_tags};
pub(super) use model_schema::{compared_model, entity_row_list, model_text, served_model};
pub(super) use parameter::{
    Location, Parameter, Values, cursor, field_names, flag, limit, limit_of_others, of_queries,
    of_searches, of_tags, one_value, only_fields, query, related_names, with_others,
};
pub(super) use problems::{BODY, CHANGE, VERSIONED, of_document, of_list, of_new};
pub(super) use sentence::{capital, names, rule, spoken, with_article};
pub(super) use token::{token_list, token_made, token_request};
pub(super) use verify::verified_part;
