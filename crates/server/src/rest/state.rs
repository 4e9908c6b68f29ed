//! State that operations share.

use std::sync::Arc;

use keyloom_model::Model;
use tokio::sync::watch;

use super::backups::Backups;
use super::change_signal::ChangeSignal;
use super::metrics::Measurements;
use super::pages::Pages;
use super::tokens::Tokens;

use crate::readiness::Readiness;

/// State that operations share. It gives no access to a database: a call has it, as its caller sees it.
#[derive(Debug)]
pub(crate) struct State {
    pub(super) model: Model,
    pub(super) tokens: Arc<Tokens>,
    pub(super) pages: Pages,
    /// If the operator has chosen a folder for them.
    pub(super) backups: Option<Arc<Backups>>,
    pub(super) measurements: Arc<Measurements>,
    pub(super) readiness: Readiness,
    pub(super) is_stopped: Arc<watch::Sender<bool>>,
    pub(super) change_signal: Arc<ChangeSignal>,
}
