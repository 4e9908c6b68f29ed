//! What operations work with.

use std::sync::Arc;

use keyloom_model::Model;
use tokio::sync::watch;

use super::metrics::Measurements;
use super::news::News;
use super::pages::Pages;
use super::readiness::Readiness;
use super::tokens::Tokens;

/// What operations work with beside their call. No database that they could reach is among it: a call
/// has it as its caller sees it.
#[derive(Debug)]
pub(crate) struct State {
    pub(super) model: Model,
    pub(super) tokens: Arc<Tokens>,
    pub(super) pages: Pages,
    pub(super) measurements: Measurements,
    pub(super) readiness: Readiness,
    pub(super) is_stopped: watch::Sender<bool>,
    pub(super) news: Arc<News>,
}
