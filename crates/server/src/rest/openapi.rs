//! What operations take and answer, described once: as OpenAPI 3.1 for programs, and for the page
//! that people read.

mod answer;
mod body;
mod bulk;
mod count;
mod describe;
mod document;
mod entity;
mod field;
mod headers;
mod links;
mod parameter;
mod problems;
mod security;
mod sentence;
mod token;

pub(super) use answer::Answer;
pub(super) use describe::{Described, Group, describe};
pub(super) use document::document;
pub(super) use parameter::{Parameter, Place};
pub(super) use sentence::{rule, spoken};
