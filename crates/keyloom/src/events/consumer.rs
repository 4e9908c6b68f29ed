//! Consumers: what a model calls after changes.

use keyloom_model::{EntityId, Model, Target, TriggeringChange};

use super::effects::Effects;
use super::failure::Failure;
use super::{Delivery, Event, Handlers, Job};
use crate::db::Db;

/// A handler, a webhook or a job that the model calls after changes.
#[derive(Clone, Debug)]
pub(crate) struct Consumer {
    /// The name of the handler; for a webhook or a job, the change that triggers it, which does not change
    /// when the entity is renamed.
    pub(crate) name: String,
    pub(crate) target: Target,
    bound: Vec<(EntityId, TriggeringChange)>,
}

impl Consumer {
    /// Returns all consumers of a model.
    pub(crate) fn all(model: &Model) -> Vec<Consumer> {
        let mut all: Vec<Consumer> = vec![];
        for handler in model.handlers() {
            let bound = (handler.entity, handler.change);
            let name = match &handler.target {
                Target::Handler(name) => name.clone(),
                Target::Webhook(_) | Target::Job(_) => {
                    let entity = model.entity(handler.entity);
                    format!("{}.{}", entity.stored, handler.change.as_str())
                }
            };
            match all.iter_mut().find(|consumer| consumer.name == name) {
                Some(consumer) => consumer.bound.push(bound),
                None => {
                    let target = handler.target.clone();
                    all.push(Consumer { name, target, bound: vec![bound] });
                }
            }
        }
        all
    }

    pub(crate) fn find(model: &Model, name: &str) -> Option<Consumer> {
        Consumer::all(model).into_iter().find(|consumer| consumer.name == name)
    }

    pub(crate) fn is_bound(&self, entity: EntityId, change: TriggeringChange) -> bool {
        self.bound.contains(&(entity, change))
    }

    /// Whether any change of an entity triggers it.
    pub(crate) fn is_about(&self, entity: EntityId) -> bool {
        self.bound.iter().any(|(other, _)| *other == entity)
    }

    /// The lane of the jobs that are created from events of one entity.
    pub(crate) fn lane(&self, event: &Event) -> String {
        let tenant = event.tenant.as_ref().map(|tenant| format!("{tenant}/")).unwrap_or_default();
        format!("{}/{}/{tenant}{}", self.name, event.stored, event.id)
    }

    /// Returns the effects of an event: those of the handler, or the job that the model names. For a
    /// webhook, the job that posts it; only a replayed event gets there.
    pub(crate) async fn effects(
        &self,
        db: &Db,
        handlers: &Handlers,
        event: &Event,
    ) -> Result<Effects, Failure> {
        let scheduled = |job: Job| Ok(Effects::new().schedule(job.lane(self.lane(event))));
        match &self.target {
            Target::Webhook(address) => {
                scheduled(Delivery::first(address, &self.name, event).into_job())
            }
            Target::Job(kind) => scheduled(Job::new(kind).payload_value(event.to_json())),
            Target::Handler(name) => match handlers.find_event(name) {
                Some(handler) => {
                    handler.call(event, Db::new(db.shared.clone(), event.tenant.clone())).await
                }
                None => Err(Failure::new(format!("No handler has the name `{name}`."))),
            },
        }
    }
}
