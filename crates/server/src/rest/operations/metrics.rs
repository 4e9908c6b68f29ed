//! `GET /metrics`: metrics.

use hyper::{Method, StatusCode};
use keyloom_model::Model;

use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, Description, Group};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::Problem;
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use crate::http::metrics::OPEN_METRICS;

#[derive(Debug)]
struct Metrics;

pub(super) fn metrics() -> Operation {
    Operation::new("metrics".to_owned(), Method::GET, Segment::path("/metrics"), Metrics)
}

impl Action for Metrics {
    fn access(&self) -> Access {
        Access::Role(Role::Admin)
    }

    fn describe(&self, _: &Model) -> Description {
        Description {
            answers: vec![Answer::text("application/openmetrics-text")],
            ..Description::new(Group::Service, "Metrics in Prometheus format")
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(state, call))
    }
}

async fn run(state: &State, call: &Call) -> Result<Reply, Problem> {
    let text = state.measurements.text(&call.exchange.origin.edge, state.tokens.now()).await?;
    Ok(Reply { media_type: OPEN_METRICS, ..Reply::json(StatusCode::OK, text) })
}
