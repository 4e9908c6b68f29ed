//! The routes in addition to those of the model: ending searches, timelines and pages.

use std::sync::Arc;

use keyloom_server::{
    Kind, OwnAnswer, OwnReply, OwnRequest, OwnRoute, OwnShape, Problem, Role, WebhookSecret,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::ending::{Ending, NotEnded, end};
use crate::link::{self, Link};
use crate::page::{self, Button};
use crate::reply::Reply;
use crate::rows::{Search, read};
use crate::service::Service;
use crate::timeline::Timeline;

/// Operations that requests cannot use: searches end by their own rules, only the hunt writes attempts,
/// and links are secret.
pub(crate) const CLOSED: &[&str] = &[
    "change_search",
    "replace_search",
    "create_attempt",
    "replace_attempt",
    "change_attempt",
    "delete_attempt",
    "create_link",
    "read_link",
    "replace_link",
    "change_link",
    "delete_link",
];

const SEARCH: OwnShape = OwnShape::Json(r##"{"type": "object"}"##);
const TIMELINE: OwnShape = OwnShape::Json(
    r#"{"type": "object",
        "required": ["search", "status", "message", "created", "ended", "stage", "name", "names",
                     "attempts", "events", "next"],
        "properties": {
            "search": {"type": "string"}, "status": {"type": "string"},
            "message": {"type": "string"},
            "created": {"type": "string", "format": "date-time"},
            "ended": {"type": ["string", "null"], "format": "date-time"},
            "stage": {"type": "integer"}, "name": {"type": "string"},
            "names": {"type": "array", "items": {"type": "string"}},
            "attempts": {"type": "array", "items": {"type": "object"}},
            "events": {"type": "array", "items": {"type": "object"}},
            "next": {"type": ["object", "null"],
                     "required": ["time", "text"],
                     "properties": {"time": {"type": "string", "format": "date-time"},
                                    "text": {"type": "string"}}}}}"#,
);
const WATCH: OwnShape = OwnShape::Json(
    r#"{"type": "object", "required": ["url"], "properties": {"url": {"type": "string"}}}"#,
);

/// What the handlers share.
struct Context {
    service: Arc<Service>,
    /// Verifies the replies of the provider.
    provider_secret: Option<WebhookSecret>,
}

/// A route whose handler is not bound to its context yet.
pub(crate) struct RouteSpec<C> {
    pub(crate) name: &'static str,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) role: Option<Role>,
    pub(crate) answer: OwnShape,
    pub(crate) handler: fn(Arc<C>, OwnRequest) -> OwnAnswer,
}

impl<C: Send + Sync + 'static> RouteSpec<C> {
    /// Binds the handler to a context.
    pub(crate) fn bind(self, context: &Arc<C>) -> OwnRoute {
        let RouteSpec { name, method, path, summary, role, answer, handler } = self;
        let context = context.clone();
        let handler = Arc::new(move |request: OwnRequest| handler(context.clone(), request));
        OwnRoute { name, method, path, summary, role, answer, handler }
    }
}

const ROUTES: [RouteSpec<Context>; 8] = [
    RouteSpec {
        name: "timeline",
        method: "GET",
        path: "/searches/{id}/timeline",
        summary: "The timeline of a search: its messages, what happened in order, and what comes next.",
        role: Some(Role::Reader),
        answer: TIMELINE,
        handler: |context, request| Box::pin(timeline(context, request)),
    },
    RouteSpec {
        name: "answer_search",
        method: "POST",
        path: "/searches/{id}/answer",
        summary: "Marks a search as answered: `by` whom, with an optional `note`.",
        role: Some(Role::Writer),
        answer: SEARCH,
        handler: |context, request| Box::pin(answer_search(context, request)),
    },
    RouteSpec {
        name: "cancel_search",
        method: "POST",
        path: "/searches/{id}/cancel",
        summary: "Cancels a search: `by` whom, with an optional `reason`.",
        role: Some(Role::Writer),
        answer: SEARCH,
        handler: |context, request| Box::pin(cancel_search(context, request)),
    },
    RouteSpec {
        name: "watch_search",
        method: "POST",
        path: "/searches/{id}/watch",
        summary: "Creates a secret link to a live page of the search.",
        role: Some(Role::Reader),
        answer: WATCH,
        handler: |context, request| Box::pin(watch_search(context, request)),
    },
    RouteSpec {
        name: "watch",
        method: "GET",
        path: "/watch/{token}",
        summary: "Shows the page of a search to whoever has the link.",
        role: None,
        answer: OwnShape::Html,
        handler: |_, request| Box::pin(show(request, Button::None)),
    },
    RouteSpec {
        name: "see",
        method: "GET",
        path: "/answer/{token}",
        summary: "Shows the page of a search with a button that answers it.",
        role: None,
        answer: OwnShape::Html,
        handler: |_, request| Box::pin(show(request, Button::Answer)),
    },
    RouteSpec {
        name: "answer",
        method: "POST",
        path: "/answer/{token}",
        summary: "Answers a search, unless it has ended.",
        role: None,
        answer: OwnShape::Html,
        handler: |context, request| Box::pin(answer(context, request)),
    },
    RouteSpec {
        name: "reply",
        method: "POST",
        path: "/reply/{token}",
        summary: "Takes a reply to a call or a text from the provider.",
        role: None,
        answer: SEARCH,
        handler: |context, request| Box::pin(reply(context, request)),
    },
];

/// All routes. With a secret of the provider, its replies must be signed.
pub(crate) fn routes(
    service: &Arc<Service>,
    provider_secret: Option<WebhookSecret>,
) -> Vec<OwnRoute> {
    let context = Arc::new(Context { service: service.clone(), provider_secret });
    ROUTES.into_iter().map(|route| route.bind(&context)).collect()
}

async fn timeline(_: Arc<Context>, request: OwnRequest) -> Result<OwnReply, Problem> {
    let timeline = Timeline::read(&request.db, request.value(0)).await?;
    let timeline = timeline.ok_or_else(|| no_search(request.value(0)))?;
    Ok(OwnReply::new(timeline.to_json().to_string()))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    by: String,
    note: Option<String>,
}

async fn answer_search(context: Arc<Context>, request: OwnRequest) -> Result<OwnReply, Problem> {
    let AnswerBody { by, note } = body(&request)?;
    finish(&context, &request, Ending::Answered { by, attempt: None, note }).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelBody {
    by: String,
    reason: Option<String>,
}

async fn cancel_search(context: Arc<Context>, request: OwnRequest) -> Result<OwnReply, Problem> {
    let CancelBody { by, reason } = body(&request)?;
    finish(&context, &request, Ending::Canceled { by, reason }).await
}

async fn finish(
    context: &Context,
    request: &OwnRequest,
    ending: Ending,
) -> Result<OwnReply, Problem> {
    let ended = end(&request.db, request.value(0), &ending, context.service.now_ms()).await;
    let ended = ended.map_err(|error| problem(error, request.value(0)))?;
    Ok(OwnReply::new(ended.to_json()))
}

async fn watch_search(context: Arc<Context>, request: OwnRequest) -> Result<OwnReply, Problem> {
    let found = read::<Search>(&request.db, "search", request.value(0)).await?;
    let (search, _) = found.ok_or_else(|| no_search(request.value(0)))?;
    let link = link::create(&context.service, &request.db, (&search, None)).await;
    let url = match link {
        Ok(token) => context.service.address(&format!("/watch/{token}")),
        Err(failure) => Err(failure),
    };
    let url =
        url.map_err(|_| Problem::new(Kind::Busy, "The link could not be created. Try again."))?;
    Ok(OwnReply::new(serde_json::json!({ "url": url }).to_string()))
}

/// The page behind a link. A link to watch shows no button under any path.
async fn show(request: OwnRequest, button: Button) -> Result<OwnReply, Problem> {
    let Some((link, db)) = link::find(&request.db, request.value(0)).await? else {
        return Ok(no_link());
    };
    let button = if link.attempt.is_some() { button } else { Button::None };
    match Timeline::read(&db, &link.search).await? {
        Some(timeline) => Ok(page::search(&timeline, button, None)),
        None => Ok(no_link()),
    }
}

async fn answer(context: Arc<Context>, request: OwnRequest) -> Result<OwnReply, Problem> {
    let found = link::find(&request.db, request.value(0)).await?;
    let Some((Link { search, attempt: Some(attempt), .. }, db)) = found else {
        return Ok(no_link());
    };
    let ending = Ending::Answered { by: "link".to_owned(), attempt: Some(attempt), note: None };
    let (status, notice) = match end(&db, &search, &ending, context.service.now_ms()).await {
        Ok(_) => (200, "Thank you. Nobody else will be contacted.".to_owned()),
        Err(NotEnded::Gone) => return Ok(no_link()),
        Err(error @ NotEnded::Already(_)) => (409, late(&error)),
        Err(NotEnded::Failed(error)) => return Err(error.into()),
    };
    let timeline = Timeline::read(&db, &search).await?;
    let page = timeline.map_or_else(no_link, |t| page::search(&t, Button::None, Some(&notice)));
    Ok(OwnReply { status, ..page })
}

async fn reply(context: Arc<Context>, request: OwnRequest) -> Result<OwnReply, Problem> {
    if let Some(secret) = &context.provider_secret {
        let now_secs = context.service.clock.now().0 / 1000;
        let checked = secret.check(|name| request.header(name), now_secs, &request.body);
        checked.map_err(|detail| Problem::new(Kind::Unauthorized, detail))?;
    }
    let reply: Reply = body(&request)?;
    let unknown = || Problem::new(Kind::NotFound, "Message not found.");
    let found = link::find(&request.db, request.value(0)).await?;
    let Some((Link { search, attempt: Some(attempt), .. }, db)) = found else {
        return Err(unknown());
    };
    let answered = reply.answer().map_err(|detail| Problem::new(Kind::Invalid, detail))?;
    let by = answered.by.to_owned();
    let ending = Ending::Answered { by, attempt: Some(attempt), note: Some(answered.note) };
    let ended = end(&db, &search, &ending, context.service.now_ms()).await;
    // The provider learns nothing else about the search.
    ended.map_err(|error| match error {
        NotEnded::Gone => unknown(),
        other => problem(other, &search),
    })?;
    Ok(OwnReply::new(r#"{"status":"successful"}"#))
}

/// Parses the body as JSON. Requires the content type, because pages of other sites can make a browser
/// send a form, but not JSON.
pub(crate) fn body<T: DeserializeOwned>(request: &OwnRequest) -> Result<T, Problem> {
    let media_type = request.header("content-type").unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        let detail = "Send JSON with `Content-Type: application/json`.";
        return Err(Problem::new(Kind::BadMediaType, detail));
    }
    serde_json::from_slice(&request.body)
        .map_err(|error| Problem::new(Kind::Invalid, format!("Invalid body: {error}.")))
}

fn problem(error: NotEnded, search: &str) -> Problem {
    match error {
        NotEnded::Gone => no_search(search),
        NotEnded::Already(_) => Problem::new(Kind::WrongState, late(&error)),
        NotEnded::Failed(error) => error.into(),
    }
}

fn late(error: &NotEnded) -> String {
    let status = match error {
        NotEnded::Already(status) => status.word(),
        NotEnded::Gone | NotEnded::Failed(_) => "gone",
    };
    format!("Too late: the search is already {status}. Nothing was changed.")
}

fn no_search(id: &str) -> Problem {
    keyloom::Error::NotFound { entity: "search".to_owned(), id: id.to_owned() }.into()
}

fn no_link() -> OwnReply {
    let page = page::notice("Link not found. It has expired, or part of it is missing.");
    OwnReply { status: 404, ..page }
}
