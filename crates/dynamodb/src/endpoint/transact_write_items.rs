//! `TransactWriteItems`.

use keyloom_store::{
    Consistency, Error, Get, Invalid, KeyAttribute, KeySchema, TableSpec, TransactAction,
    TransactWrite,
};
use keyloom_value::Item;

use crate::json::Writer;
use crate::wire::{Fault, Reason};

use super::Endpoint;
use super::capacity::{self, Consumed, Use};
use super::indexes::{has_local_index, write_collection};
use super::params::Params;
use super::refusal::{self, RequestKind};
use super::transact_action;
use super::update_item::updated;
use super::violations::{CAPACITY, METRICS, Violations};
use super::write_params::WriteExtras;

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let extras = WriteExtras::read(&params)?;
    let transaction = read(params)?;
    for action in &transaction.actions {
        endpoint.check_visible(action.table())?;
    }
    let requested = transaction.actions.clone();
    let before = match extras.is_requested() {
        true => before(endpoint, &requested).await,
        false => vec![],
    };
    if let Err(error) = endpoint.store.transact_write(transaction).await {
        return Err(refused(endpoint, &requested, error).await);
    }
    let mut writer = Writer::new();
    writer.object(|w| write_extras(w, extras, &requested, &before));
    Ok(writer.finish())
}

/// Reads the table of each action and the item before it. If the same items are written
/// concurrently, the reported units may be based on either version.
pub(super) async fn before(
    endpoint: &Endpoint,
    actions: &[TransactAction],
) -> Vec<Option<(TableSpec, Option<Item>)>> {
    let mut images = Vec::new();
    for action in actions {
        let Ok(table) = endpoint.store.describe_table(action.table().clone()).await else {
            images.push(None);
            continue;
        };
        let get = Get {
            table: action.table().clone(),
            key: table.spec.key.of(transact_action::image(action)),
            projection: None,
            consistency: Consistency::Strong,
        };
        let old = endpoint.store.get(get).await.ok().flatten();
        images.push(Some((table.spec, old)));
    }
    images
}

pub(super) fn write_extras(
    w: &mut Writer,
    extras: WriteExtras,
    actions: &[TransactAction],
    before: &[Option<(TableSpec, Option<Item>)>],
) {
    let known = || {
        let pairs = actions.iter().zip(before);
        pairs.filter_map(|(action, before)| Some((action, before.as_ref()?)))
    };
    let mut consumed = Vec::new();
    for (action, (spec, old)) in known() {
        let old = old.as_ref();
        let units = match action {
            TransactAction::Put(put) => Consumed::of_write(spec, old, Some(&put.item)),
            TransactAction::Update(update) => {
                let new = updated(&update.update, old, &update.key);
                Consumed::of_write(spec, old, new.as_ref())
            }
            TransactAction::Delete(_) => Consumed::of_write(spec, old, None),
            TransactAction::Check(_) => Consumed::of_write(spec, old, old),
        };
        capacity::merge(&mut consumed, units.doubled());
    }
    capacity::write_all(w, extras.detail, &consumed, Use::TransactWrite);
    if extras.metrics && known().any(|(_, (spec, _))| has_local_index(spec)) {
        w.name("ItemCollectionMetrics").object(|w| {
            for consumed in &consumed {
                w.name(consumed.table.as_str()).list(|w| {
                    known()
                        .filter(|(_, (spec, _))| spec.name == consumed.table)
                        .filter(|(_, (spec, _))| has_local_index(spec))
                        .for_each(|(action, (spec, _))| {
                            write_collection(w, spec, transact_action::image(action));
                        });
                });
            }
        });
    }
}

/// An action that breaks a rule cancels the transaction, with a reason for that action.
pub(super) async fn refused(
    endpoint: &Endpoint,
    actions: &[TransactAction],
    error: Error,
) -> Fault {
    if let Error::Invalid(invalid) = &error {
        let specs = specs(endpoint, actions).await;
        if let Some(twice) = item_twice(actions, &specs) {
            return Fault::validation(refusal::invalid_message(
                None,
                RequestKind::Transaction,
                &twice,
            ));
        }
        for (position, (action, spec)) in actions.iter().zip(&specs).enumerate() {
            let Some(spec) = spec else { continue };
            if transact_action::breaks(spec, action, invalid) {
                return canceled(actions.len(), position, spec, action, invalid);
            }
        }
    }
    match actions.first() {
        Some(action) => {
            refusal::item_fault(endpoint, action.table(), RequestKind::Transaction, error).await
        }
        None => Fault::validation("TransactItems must not be empty"),
    }
}

async fn specs(endpoint: &Endpoint, actions: &[TransactAction]) -> Vec<Option<TableSpec>> {
    let mut specs = Vec::with_capacity(actions.len());
    for action in actions {
        let table = endpoint.store.describe_table(action.table().clone()).await;
        specs.push(table.ok().map(|table| table.spec));
    }
    specs
}

/// Finds two actions on one item. They are refused before what else is wrong with an action, which
/// cancels the transaction: only the keys are needed to find them.
fn item_twice(actions: &[TransactAction], specs: &[Option<TableSpec>]) -> Option<Invalid> {
    let mut seen = Vec::with_capacity(actions.len());
    for (action, spec) in actions.iter().zip(specs) {
        let Some(key) = spec.as_ref().and_then(|spec| valid_key(&spec.key, action)) else {
            continue;
        };
        let item = (action.table(), key);
        if seen.contains(&item) {
            let (table, key) = item;
            return Some(Invalid::ItemTwice { table: table.clone(), key: Box::new(key) });
        }
        seen.push(item);
    }
    None
}

/// Returns the key of an action's item, if its attributes have the types of the key.
fn valid_key(schema: &KeySchema, action: &TransactAction) -> Option<Item> {
    let image = transact_action::image(action);
    let is_valid = |attribute: &KeyAttribute| {
        let value = image.get(attribute.name.as_str());
        value.is_some_and(|value| value.value_type() == attribute.key_type.value_type())
    };
    schema.attributes().all(is_valid).then(|| schema.of(image))
}

fn canceled(
    count: usize,
    position: usize,
    spec: &TableSpec,
    action: &TransactAction,
    invalid: &Invalid,
) -> Fault {
    let text = refusal::invalid_message(Some(spec), transact_action::request_kind(action), invalid);
    let mut reasons = vec![Reason::NONE; count];
    if let Some(reason) = reasons.get_mut(position) {
        *reason = Reason::validation(text);
    }
    Fault::canceled(reasons)
}

fn read(params: Params<'_>) -> Result<TransactWrite, Fault> {
    let elements = params.objects("TransactItems")?;
    let token = params.text("ClientRequestToken")?;
    let mut violations = Violations::default();
    let capacity = params.text("ReturnConsumedCapacity")?;
    violations.one_of("returnConsumedCapacity", capacity, CAPACITY);
    let metrics = params.text("ReturnItemCollectionMetrics")?;
    violations.one_of("returnItemCollectionMetrics", metrics, METRICS);
    violations.required("transactItems", elements.is_some());
    if let Some(elements) = &elements {
        violations.transact_items(elements.len());
    }
    if let Some(token) = token {
        let length = token.chars().count();
        violations.length("clientRequestToken", format_args!("'{token}'"), length, 1..=36);
    }
    let elements = elements.unwrap_or_default();
    for (position, element) in elements.iter().enumerate() {
        transact_action::violations(&mut violations, position, *element)?;
    }
    violations.finish()?;
    let actions = elements.into_iter().map(transact_action::read);
    Ok(TransactWrite {
        token: token.map(str::to_owned),
        ..TransactWrite::new(actions.collect::<Result<_, _>>()?)
    })
}
