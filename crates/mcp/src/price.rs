//! What a declaration costs, measured: `keyloom_app::plan` plays a sample on a store in a temporary
//! directory that counts the capacity units of DynamoDB.

use keyloom_app::operations::block_on;
use keyloom_app::plan::{DYNAMODB_PRICES, Plan, PlanOptions, PlanRequest, plan};
use keyloom_model::check;
use keyloom_model::workload::Workload;
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::patch::{Declaration, Patched};

/// Operations of a sample: enough for averages, and about a second of work.
const OPERATIONS: u64 = 400;
/// One sample at a time: each takes a core.
static SAMPLES: Semaphore = Semaphore::const_new(1);

/// What a declaration costs on DynamoDB, on demand.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct Price {
    /// Write units of creating an entity, on average, under the served model.
    write_units_before: f64,
    /// The same with the declaration.
    write_units_after: f64,
    /// What a million creates cost more, in US dollars.
    dollars_more_per_million_creates: f64,
    /// Read units of a first page of 20, or of a count.
    read_units: f64,
    /// What a million such reads cost, in US dollars.
    dollars_per_million_reads: f64,
}

/// Units of creates and of reads of the declared query, each once a second.
#[derive(Clone, Copy)]
struct Units {
    write: f64,
    write_reads: f64,
    read: f64,
}

impl Price {
    /// Measures what a declaration adds to a model.
    pub(crate) async fn measure(
        before: String,
        after: &Patched,
        declaration: &Declaration,
    ) -> Result<Price, String> {
        // The semaphore is never closed.
        let _permit = SAMPLES.acquire().await.map_err(|error| error.to_string())?;
        let (after, declaration) = (after.text.clone(), declaration.clone());
        let measured = spawn_blocking(move || {
            let old = units(before, &declaration, false)?;
            Ok::<_, String>((old, units(after, &declaration, true)?))
        });
        let (old, new) = measured.await.map_err(|_| "the sample has failed.".to_owned())??;
        let dollars = |units: Units| {
            units.write * DYNAMODB_PRICES.million_write_units
                + units.write_reads * DYNAMODB_PRICES.million_read_units
        };
        Ok(Price {
            write_units_before: rounded(old.write),
            write_units_after: rounded(new.write),
            dollars_more_per_million_creates: rounded(dollars(new) - dollars(old)),
            read_units: rounded(new.read),
            dollars_per_million_reads: rounded(new.read * DYNAMODB_PRICES.million_read_units),
        })
    }
}

/// Plays creates of the entity, and reads of the declaration if the model has it.
fn units(model: String, declaration: &Declaration, is_declared: bool) -> Result<Units, String> {
    let (entity, path) = (&declaration.entity, declaration.path());
    let reads = if is_declared { format!("[reads]\n{path} = 1\n") } else { String::new() };
    let workload = format!("[{entity}]\ncreates = 1\n{reads}");
    let checked = check(&model).map_err(|_| "the model has errors.".to_owned())?;
    let workload = Workload::check(&workload, &checked).map_err(|errors| {
        errors.first().map_or_else(String::new, |error| format!("{}.", error.reason()))
    })?;
    let options = PlanOptions { operations: OPERATIONS, ..PlanOptions::default() };
    let report = block_on(plan(&PlanRequest { model, workload, options }))?;
    Ok(of_plan(&report.declared, &path))
}

fn of_plan(plan: &Plan, path: &str) -> Units {
    let (reads, writes): (Vec<_>, Vec<_>) = plan.costs.iter().partition(|cost| cost.work == path);
    Units {
        write: writes.iter().map(|cost| cost.costs.write_units).sum(),
        write_reads: writes.iter().map(|cost| cost.costs.read_units).sum(),
        read: reads.iter().map(|cost| cost.costs.read_units).sum(),
    }
}

fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
