//! State that operations share.

use std::sync::Arc;

use keyloom_model::Model;
use tokio::sync::watch;

use super::backups::Backups;
use super::change_signal::ChangeSignal;
use super::metrics::Measurements;
use super::operation::Operation;
use super::pages::Pages;
use super::tokens::Tokens;

use crate::readiness::Readiness;

/// State that operations share. It gives no access to a database: a call has it, as its caller sees it.
#[derive(Debug)]
pub(crate) struct State {
    pub(super) model: Model,
    pub(super) operations: Vec<Operation>,
    pub(super) tokens: Arc<Tokens>,
    pub(super) pages: Pages,
    /// If the operator has chosen a folder for them.
    pub(super) backups: Option<Arc<Backups>>,
    pub(super) measurements: Arc<Measurements>,
    pub(super) readiness: Readiness,
    /// Whether the server stops. The same for the services of all models that it has served.
    pub(super) is_stopped: Arc<watch::Sender<bool>>,
    /// Whether the server stops, or another model has replaced this one: streams end then.
    pub(super) is_over: watch::Sender<bool>,
    pub(super) change_signal: Arc<ChangeSignal>,
}

impl State {
    /// Ends all streams.
    pub(super) fn end_streams(&self) {
        self.is_over.send_replace(true);
    }

    /// Waits until all streams are to end.
    pub(super) async fn over(&self) {
        // There is a sender as long as there is this.
        let _ = self.is_over.subscribe().wait_for(|is_over| *is_over).await;
    }
}
