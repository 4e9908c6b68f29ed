//! `GET /changes/page`: changes of entities since a position, for clients that poll.

use hyper::{Method, StatusCode};
use keyloom::events::{Event, EventPage};
use keyloom_model::{EntityId, Model};
use serde_json::{Value as Json, json};

use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Description, Group, change_page, limit, query};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::reserved::LIMIT;
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::changes::{AFTER, ENTITY, PAGE_LIMIT, chosen_entities, entity_schema, resumed_after};

/// Maximum number of changes in a page, if the request does not say.
const PAGE: u32 = 20;

const DETAILS: &str = "\
The same changes as those of the stream `/changes`, oldest first, with the same positions. Pass `next` as \
`after` to continue: immediately if `more` is true, otherwise after a while. Without `after`, the page is \
empty, and `next` is the current position. A page can be empty although `more` is true.";

/// Returns changes of these entities.
#[derive(Debug)]
struct ListChanges(Vec<EntityId>);

pub(super) fn list_changes(followed: Vec<EntityId>) -> Operation {
    let path = Segment::path("/changes/page");
    Operation::new("list_changes".to_owned(), Method::GET, path, ListChanges(followed))
}

impl Action for ListChanges {
    fn access(&self) -> Access {
        Access::Role(Role::Reader)
    }

    fn describe(&self, model: &Model) -> Description {
        Description {
            details: vec![DETAILS.to_owned()],
            query: vec![
                query(
                    ENTITY,
                    "Return only changes of this entity; can be repeated.",
                    entity_schema(model, &self.0),
                ),
                query(AFTER, "The `next` of another page.", json!({ "type": "string" })),
                limit(PAGE, "Maximum number of changes; at most 1000."),
            ],
            answers: vec![Answer::json(200, "A page of changes.", change_page())],
            problems: vec![Kind::BadParameter, Kind::ChangesGone, Kind::PositionUnknown],
            is_of_all_entities: true,
            ..Description::new(Group::Service, "List changes since a position")
        }
    }

    fn is_paged(&self) -> bool {
        true
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(state, call, &self.0))
    }
}

async fn run(state: &State, call: &Call, followed: &[EntityId]) -> Result<Reply, Problem> {
    call.check_parameters(&[ENTITY, AFTER, LIMIT])?;
    let entities = chosen_entities(call, &state.model, followed)?;
    let limit = call.limit()?.unwrap_or(PAGE) as usize;
    let page = match resumed_after(call)? {
        Some(after) => call.db.events(&after, PAGE_LIMIT).await?,
        None => EventPage::empty(state.change_signal.begin().await?.newest_position().await?),
    };
    let EventPage { events, next, is_full, .. } = page;
    let mut events: Vec<Event> =
        events.into_iter().filter(|event| entities.contains(&event.entity)).collect();
    let is_cut = events.len() > limit;
    events.truncate(limit);
    // What was cut off follows the last change of the page.
    let next = match events.last().filter(|_| is_cut) {
        Some(last) => last.position.to_string(),
        None => next.to_string(),
    };
    let items: Vec<String> = events.iter().map(Event::to_json).collect();
    // Documents are written by their own writer: it keeps numbers exact.
    let (items, next, more) = (items.join(","), Json::from(next), is_cut || is_full);
    let body = format!("{{\"items\":[{items}],\"next\":{next},\"more\":{more}}}");
    Ok(Reply::json(StatusCode::OK, body))
}
