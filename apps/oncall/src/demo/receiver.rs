//! The built-in receiver: it stands in for the phones, mailboxes and webhooks of all contacts. The service
//! reaches it like any other receiver: over SMTP, and by signed requests to the routes here. Messages can
//! be answered from here. It sends nothing except to the service.

use std::sync::{Arc, OnceLock};

use keyloom::{Clock, Db, Error};
use keyloom_server::{
    HttpClient, HttpRequest, Kind as ProblemKind, OwnReply, OwnRequest, OwnRoute, OwnShape,
    Problem, Role, WebhookSecret,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::inbox::{Inbox, Incoming, Received, TooLarge};
use super::mail_server::{MailHandler, MailServer};
use super::mail_text::MailText;
use crate::routes::{RouteSpec, body};
use crate::rows::{Kind, text};
use crate::time::time_text;

/// The prefix of webhooks to the receiver. The name never resolves to another machine (RFC 6761); the
/// real address is known only once the service listens.
pub(super) const WEBHOOKS: &str = "http://receiver.localhost/webhook/";
/// The maximum number of messages per list.
const LISTED_MAX: usize = 100;

/// The receiver.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) inbox: Arc<Inbox>,
    pub(super) mail: MailServer,
    /// Signs requests between the service and the receiver.
    pub(super) secret: WebhookSecret,
    pub(super) post: HttpClient,
    pub(super) clock: Arc<dyn Clock>,
}

/// Puts mail into the inbox.
#[derive(Debug)]
pub(super) struct Mailbox {
    pub(super) inbox: Arc<Inbox>,
    pub(super) clock: Arc<dyn Clock>,
    /// The URL of the service.
    pub(super) url: Arc<OnceLock<String>>,
}

impl MailHandler for Mailbox {
    fn handle(&self, to: &str, data: &[u8]) -> Result<(), TooLarge> {
        let MailText { subject, id, text } = MailText::read(data);
        // Any local process can send mail: only URLs of the service become links.
        let prefix = self.url.get().map(|url| format!("{}/answer/", url.trim_end_matches('/')));
        let is_answer =
            |line: &&str| prefix.as_ref().is_some_and(|prefix| line.starts_with(prefix));
        let answer_url = text.lines().find(is_answer).map(|line| line.trim().to_owned());
        let (to, subject) = (to.to_owned(), Some(subject));
        let (key, kind, reply_url) = (id, Kind::Email, None);
        let message = Incoming { key, kind, to, subject, text, answer_url, reply_url };
        self.inbox.add(message, now_ms(&*self.clock)).map(drop)
    }
}

/// A request to the provider of calls and texts.
#[derive(Deserialize)]
struct ProviderBody {
    key: String,
    kind: Kind,
    to: String,
    text: String,
    reply_url: String,
}

/// The fields of a webhook that the receiver needs.
#[derive(Deserialize)]
struct WebhookBody {
    key: String,
    answer_url: String,
}

/// An answer: a text, or the keys of a phone. Empty for a webhook.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digits: Option<String>,
}

const ACCEPTED: OwnShape = OwnShape::Json(
    r#"{"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}"#,
);
const MESSAGES: OwnShape = OwnShape::Json(
    r#"{"type": "object", "required": ["items"],
        "properties": {"items": {"type": "array", "items": {"type": "object",
            "required": ["number", "time", "kind", "to", "text", "search"],
            "properties": {
                "number": {"type": "integer"}, "time": {"type": "string", "format": "date-time"},
                "kind": {"type": "string"}, "to": {"type": "string"},
                "subject": {"type": ["string", "null"]}, "text": {"type": "string"},
                "search": {"type": "string"}, "answer_url": {"type": ["string", "null"]},
                "reply_url": {"type": ["string", "null"]}}}}}}"#,
);
const ANSWERED: OwnShape = OwnShape::Json(
    r#"{"type": "object", "required": ["status", "detail"], "properties": {
            "status": {"type": "integer"}, "detail": {"type": ["string", "null"]}}}"#,
);

const ROUTES: [RouteSpec<Receiver>; 4] = [
    RouteSpec {
        name: "receive_provider",
        method: "POST",
        path: "/receiver/provider",
        summary: "Takes a call or a text from the service, as a provider does.",
        role: None,
        answer: ACCEPTED,
        handler: |receiver, request| Box::pin(async move { receiver.take_provider(&request) }),
    },
    RouteSpec {
        name: "receive_webhook",
        method: "POST",
        path: "/receiver/webhook/{name}",
        summary: "Takes a webhook from the service.",
        role: None,
        answer: ACCEPTED,
        handler: |receiver, request| Box::pin(async move { receiver.take_webhook(&request) }),
    },
    RouteSpec {
        name: "list_received",
        method: "GET",
        path: "/receiver/messages",
        summary: "Lists the messages that were received, newest first; `after` a number.",
        role: Some(Role::Reader),
        answer: MESSAGES,
        handler: |receiver, request| Box::pin(async move { receiver.list(&request).await }),
    },
    RouteSpec {
        name: "answer_received",
        method: "POST",
        path: "/receiver/messages/{number}/answer",
        summary: "Answers a message as its recipient: with a `text`, or the `digits` of a phone.",
        role: Some(Role::Writer),
        answer: ANSWERED,
        handler: |receiver, request| Box::pin(async move { receiver.answer(&request).await }),
    },
];

impl Receiver {
    pub(super) fn routes(self: &Arc<Receiver>) -> Vec<OwnRoute> {
        ROUTES.into_iter().map(|route| route.bind(self)).collect()
    }

    fn take_provider(&self, request: &OwnRequest) -> Result<OwnReply, Problem> {
        self.check(request)?;
        let ProviderBody { key, kind, to, text, reply_url } = body(request)?;
        if !matches!(kind, Kind::Call | Kind::Text) {
            let detail = "Invalid kind: a provider takes `call` and `text`.";
            return Err(Problem::new(ProblemKind::Invalid, detail));
        }
        let reply_url = Some(reply_url);
        self.add(Incoming { key, kind, to, subject: None, text, answer_url: None, reply_url })
    }

    fn take_webhook(&self, request: &OwnRequest) -> Result<OwnReply, Problem> {
        self.check(request)?;
        let WebhookBody { key, answer_url } = body(request)?;
        let to = format!("{WEBHOOKS}{}", request.value(0));
        let text = String::from_utf8_lossy(&request.body).into_owned();
        let (kind, answer_url) = (Kind::Webhook, Some(answer_url));
        self.add(Incoming { key, kind, to, subject: None, text, answer_url, reply_url: None })
    }

    /// Verifies the signature: only the service has the secret.
    fn check(&self, request: &OwnRequest) -> Result<(), Problem> {
        let now_secs = self.clock.now().0 / 1000;
        let checked = self.secret.check(|name| request.header(name), now_secs, &request.body);
        checked.map_err(|detail| Problem::new(ProblemKind::Unauthorized, detail))
    }

    fn add(&self, message: Incoming) -> Result<OwnReply, Problem> {
        let added = self.inbox.add(message, now_ms(&*self.clock));
        let number = added.map_err(|TooLarge| {
            Problem::new(
                ProblemKind::BodyTooLarge,
                "The receiver accepts messages of up to 64 KiB.",
            )
        })?;
        Ok(OwnReply::new(json!({ "id": format!("receiver-{number}") }).to_string()))
    }

    async fn list(&self, request: &OwnRequest) -> Result<OwnReply, Problem> {
        let after = request.parameters.iter().find(|(name, _)| name == "after");
        let after = after.map_or(Ok(0), |(_, number)| number.parse::<u64>());
        let invalid = |_| Problem::new(ProblemKind::BadParameter, "`after` must be a number.");
        let mut items = vec![];
        for received in self.inbox.after(after.map_err(invalid)?) {
            if items.len() == LISTED_MAX {
                break;
            }
            if let Some(search) = search_of(&request.db, &received).await? {
                items.push(listed(&received, &search));
            }
        }
        Ok(OwnReply::new(json!({ "items": items }).to_string()))
    }

    async fn answer(&self, request: &OwnRequest) -> Result<OwnReply, Problem> {
        let answer: AnswerBody = body(request)?;
        let missing = || Problem::new(ProblemKind::NotFound, "Message not found.");
        let number = request.value(0).parse().map_err(|_| missing())?;
        let received = self.inbox.find(number).ok_or_else(missing)?;
        search_of(&request.db, &received).await?.ok_or_else(missing)?;
        let message = &received.message;
        let (address, body) = match message.kind {
            Kind::Call | Kind::Text => (&message.reply_url, json!(answer).to_string()),
            Kind::Webhook => (&message.answer_url, String::new()),
            Kind::Email => {
                let detail = "Open the link in the email to answer it.";
                return Err(Problem::new(ProblemKind::Invalid, detail));
            }
        };
        let address = address.clone().ok_or_else(missing)?;
        let (now_secs, body) = (self.clock.now().0 / 1000, body.into_bytes());
        let headers = self.secret.headers(&format!("receiver-{number}"), now_secs, &body);
        let response = self.post.post(HttpRequest { address, headers, body }).await;
        let response = response.map_err(|error| Problem::new(ProblemKind::Busy, error.message))?;
        let problem: Option<Json> = serde_json::from_slice(&response.body).ok();
        let detail = problem.as_ref().and_then(|problem| problem["detail"].as_str());
        Ok(OwnReply::new(json!({ "status": response.status, "detail": detail }).to_string()))
    }
}

/// The search of a message, if the caller may see it: the key of a message is the id of its attempt.
async fn search_of(db: &Db, received: &Received) -> Result<Option<String>, Problem> {
    match db.get("attempt", &received.message.key).await {
        Ok(attempt) => Ok(attempt.map(|attempt| text(&attempt, "search").to_owned())),
        // Mail from other senders can have any id.
        Err(Error::Id { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn listed(received: &Received, search: &str) -> Json {
    let Incoming { key: _, kind, to, subject, text, answer_url, reply_url } = &received.message;
    json!({
        "number": received.number,
        "time": time_text(received.time_ms),
        "kind": kind.word(),
        "to": to,
        "subject": subject,
        "text": text,
        "search": search,
        "answer_url": answer_url,
        "reply_url": reply_url,
    })
}

fn now_ms(clock: &dyn Clock) -> i64 {
    i64::try_from(clock.now().0).unwrap_or(i64::MAX)
}
