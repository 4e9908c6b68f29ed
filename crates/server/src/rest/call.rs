//! A request whose operation and caller are known, and its reply.

use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use hyper::header::{
    CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH, LOCATION,
};
use hyper::{Method, StatusCode};
use keyloom::{Db, Fields, Item, Record, json_to_item};
use keyloom_model::Entity;

use super::caller::Caller;
use super::closed_steps::check_steps;
use super::problem::{Kind, Problem};
use super::reserved::{self, FIELDS, LIMIT, REVERSE, shown};
use crate::http::exchange::Exchange;

/// A request to an operation.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The database as the caller sees it.
    pub(crate) db: Db,
    pub(crate) caller: Caller,
    pub(crate) method: Method,
    /// The values of the path parameters, in order.
    pub(crate) values: Vec<String>,
    /// The query parameters, in order.
    pub(crate) parameters: Vec<(String, String)>,
    /// Parameters that fields have the names of.
    pub(crate) hidden: Vec<&'static str>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Operations on entities that are not served.
    pub(crate) closed: &'static [&'static str],
    /// Where the request came from, and its id.
    pub(crate) exchange: Arc<Exchange>,
}

/// Versions in `If-Match` or `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tags {
    /// No condition.
    Absent,
    /// `*`: any version.
    Any,
    /// One of these.
    Of(Vec<String>),
}

impl Call {
    /// The value of a path parameter; empty if there is none.
    pub(crate) fn value(&self, index: usize) -> &str {
        self.values.get(index).map_or("", String::as_str)
    }

    /// The body as a document.
    pub(crate) fn document(&self) -> Result<Item, Problem> {
        self.check_media_type()?;
        json_to_item(&self.body).map_err(|error| keyloom::Error::Document(error).into())
    }

    /// Requires JSON: a page of another site can make a browser send a form, but not JSON.
    fn check_media_type(&self) -> Result<(), Problem> {
        let mut values = self.headers.get_all(CONTENT_TYPE).iter();
        let value = values.next().filter(|_| values.next().is_none());
        let value = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = value.split(';').next().unwrap_or_default().trim();
        let is_patch = self.method == Method::PATCH;
        match kind.to_ascii_lowercase().as_str() {
            "application/json" => Ok(()),
            "application/merge-patch+json" if is_patch => Ok(()),
            _ => {
                let detail = "The body must be JSON: send `Content-Type: application/json`.";
                Err(Problem::new(Kind::BadMediaType, detail))
            }
        }
    }

    /// A query parameter that may be given once.
    pub(crate) fn parameter(&self, name: &str) -> Result<Option<&str>, Problem> {
        let mut values = self.parameters.iter().filter(|(other, _)| other == name);
        match (values.next(), values.next()) {
            (value, None) => Ok(value.map(|(_, value)| value.as_str())),
            (_, Some(_)) => {
                let name = shown(name);
                Err(bad_parameter(format!("`{name}` is given twice: give it once.")))
            }
        }
    }

    /// What a parameter is called in requests about the entity.
    fn called<'n>(&self, name: &'n str) -> &'n str {
        if self.hidden.contains(&name) { name } else { reserved::shown(name) }
    }

    /// Whether a query parameter is given.
    pub(crate) fn has_parameter(&self, name: &str) -> bool {
        self.parameters.iter().any(|(other, _)| other == name)
    }

    /// Parses a query parameter.
    pub(crate) fn parsed<T: FromStr>(
        &self,
        name: &str,
        expected: impl Display,
    ) -> Result<Option<T>, Problem> {
        let Some(text) = self.parameter(name)? else { return Ok(None) };
        let name = shown(name);
        let refuse =
            |_| bad_parameter(format!("`{name}` must be {expected}, not `{}`.", cut(text)));
        text.parse().map(Some).map_err(refuse)
    }

    /// Whether the list is requested from its end.
    pub(crate) fn is_reversed(&self) -> Result<bool, Problem> {
        Ok(self.parsed(REVERSE, "`true` or `false`")?.unwrap_or(false))
    }

    /// The requested number of entities.
    pub(crate) fn limit(&self) -> Result<Option<u32>, Problem> {
        const EXPECTED: &str = "a whole number from 1 to 1000";
        match self.parsed(LIMIT, EXPECTED)? {
            Some(limit @ (0 | 1001..)) => {
                Err(bad_parameter(format!("`limit` must be {EXPECTED}, not `{limit}`.")))
            }
            limit => Ok(limit),
        }
    }

    /// What to read together with entities, if that is requested.
    pub(crate) fn with(&self, entity: &str) -> Result<Option<&str>, Problem> {
        let with = self.parameter("with")?;
        with.map_or(Ok(()), |with| check_steps(self, entity, with))?;
        Ok(with)
    }

    /// The requested fields of entities and of those that `with` adds to them; all of them by default.
    pub(crate) fn fields(&self, entity: &Entity) -> Result<Fields, Problem> {
        let Some(fields) = self.parameter(FIELDS)? else { return Ok(Fields::default()) };
        let with = self.parameter("with")?.unwrap_or_default();
        Ok(self.db.fields(&entity.name, with, fields)?)
    }

    /// Rejects all other parameters.
    pub(crate) fn check_parameters(&self, known: &[&str]) -> Result<(), Problem> {
        match self.parameters.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                let known: Vec<&str> = known.iter().map(|name| self.called(name)).collect();
                Err(unknown_parameter(self.called(name), &known))
            }
        }
    }

    /// The versions one of which the entity must have.
    pub(crate) fn if_match(&self) -> Result<Tags, Problem> {
        tags(&self.headers, &IF_MATCH, Weak::Differs)
    }

    /// The versions none of which the entity may have.
    pub(crate) fn if_none_match(&self) -> Result<Tags, Problem> {
        if_none_match(&self.headers)
    }

    /// The idempotency key, under which the request is applied once.
    pub(crate) fn idempotency_key(&self) -> Result<Option<String>, Problem> {
        let mut values = self.headers.get_all("idempotency-key").iter();
        let refuse = |detail: &str| Err(Problem::new(Kind::BadHeader, detail));
        let value = match (values.next(), values.next()) {
            (None, _) => return Ok(None),
            (Some(_), Some(_)) => return refuse("`Idempotency-Key` is given twice: give it once."),
            (Some(value), None) => value.to_str().unwrap_or_default(),
        };
        let is_visible = value.bytes().all(|byte| byte.is_ascii_graphic());
        match value.len() {
            1..=200 if is_visible => Ok(Some(value.to_owned())),
            _ => refuse("`Idempotency-Key` must have 1 to 200 visible ASCII characters."),
        }
    }
}

/// The versions in `If-None-Match`.
pub(crate) fn if_none_match(headers: &HeaderMap) -> Result<Tags, Problem> {
    tags(headers, &IF_NONE_MATCH, Weak::Equals)
}

/// How weak tags compare. The server itself sends none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weak {
    Equals,
    Differs,
}

fn tags(headers: &HeaderMap, name: &HeaderName, weak: Weak) -> Result<Tags, Problem> {
    let mut all = vec![];
    let mut is_there = false;
    for value in headers.get_all(name) {
        is_there = true;
        let value = value.to_str().unwrap_or_default().trim();
        if value == "*" {
            return Ok(Tags::Any);
        }
        for tag in value.split(',').map(str::trim) {
            let (is_weak, tag) = tag.strip_prefix("W/").map_or((false, tag), |tag| (true, tag));
            let inner = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
            let Some(inner) = inner else {
                let detail = format!(
                    "`{name}` must be a list of tags: send an `ETag` as received, with its quotes, or \
                     `*`."
                );
                return Err(Problem::new(Kind::BadHeader, detail));
            };
            if !is_weak || weak == Weak::Equals {
                all.push(inner.to_owned());
            }
        }
    }
    Ok(if is_there { Tags::Of(all) } else { Tags::Absent })
}

pub(crate) fn bad_parameter(detail: String) -> Problem {
    Problem::new(Kind::BadParameter, detail)
}

pub(crate) fn unknown_parameter(name: &str, known: &[&str]) -> Problem {
    let name = cut(name);
    let help = match (keyloom_model::nearest(&name, known), known) {
        (Some(close), _) => format!("did you mean `{close}`?"),
        (None, []) => "this request takes no parameters.".to_owned(),
        (None, known) => format!("this request takes {}.", quoted(known)),
    };
    bad_parameter(format!("Unknown parameter `{name}`: {help}"))
}

/// `a`, `b` and `c`.
pub(crate) fn quoted(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => format!("`{only}`"),
        [first @ .., end] => format!("`{}` and `{end}`", first.join("`, `")),
    }
}

/// Truncates text of a client for a message.
pub(crate) fn cut(text: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    match text.char_indices().nth(CHARACTERS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The chunks of a body, which are made while it is sent.
pub(crate) struct Chunks(pub(crate) BoxStream<'static, Bytes>);

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chunks")
    }
}

/// The reply of an operation.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) media_type: &'static str,
    pub(crate) headers: Vec<(HeaderName, String)>,
    pub(crate) body: Vec<u8>,
    /// The chunks of a streamed body, instead of `body`.
    pub(crate) chunks: Option<Chunks>,
    /// The code of a problem, for the log.
    pub(crate) code: Option<&'static str>,
    /// The internal cause of a problem, for the log only.
    pub(crate) cause: Option<String>,
}

pub(crate) const JSON: &str = "application/json";

impl Reply {
    pub(crate) fn json(status: StatusCode, body: impl Into<String>) -> Reply {
        let body = body.into().into_bytes();
        Reply { media_type: JSON, body, ..Reply::empty(status) }
    }

    pub(crate) fn empty(status: StatusCode) -> Reply {
        Reply {
            status,
            media_type: "",
            headers: vec![],
            body: vec![],
            chunks: None,
            code: None,
            cause: None,
        }
    }

    /// An entity, with its version as a tag.
    pub(crate) fn record(status: StatusCode, record: &Record) -> Reply {
        Reply::json(status, record.to_json()).with(ETAG, tag(record))
    }

    /// Some fields of an entity, with its version as a tag.
    pub(crate) fn record_of(record: &Record, fields: &Fields) -> Reply {
        Reply::json(StatusCode::OK, record.to_json_of(fields)).with(ETAG, tag(record))
    }

    pub(crate) fn with(mut self, name: HeaderName, value: impl Into<String>) -> Reply {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn at(self, location: String) -> Reply {
        self.with(LOCATION, location)
    }

    /// The headers with valid values.
    pub(crate) fn header_values(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let media_type = (!self.media_type.is_empty()).then_some((CONTENT_TYPE, self.media_type));
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.as_str()));
        headers.chain(media_type).filter_map(|(name, value)| Some((name, value.parse().ok()?)))
    }
}

/// The `ETag` of a record.
pub(crate) fn tag(record: &Record) -> String {
    format!("\"{}\"", record.version())
}
