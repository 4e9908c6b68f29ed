//! What a workload costs on DynamoDB, and how far it can grow: units and dollars, the hottest keys, the
//! rate at which each declared query stops scaling, and how many shards it needs.
//!
//! Nothing is estimated by formulas. A sample of the workload runs on a store that counts every unit
//! by the service's rules (strict mode, without its limits); the counts are scaled to the declared
//! rates. The same seed gives the same plan.

mod ceiling;
mod clock;
mod document;
mod draw;
mod entropy;
mod part;
mod play;
mod prices;
mod proposal;
mod report;
mod scratch;
mod tally;

pub use ceiling::{Ceiling, Limit, Reached};
pub use prices::{DYNAMODB_PRICES, Prices};
pub use report::{CostOf, Costs, HotKey, Plan, PlanReport, Proposal, SpaceHeat};

use keyloom_model::workload::{Workload, declare_shards};
use keyloom_model::{Model, check};

use play::Sample;

/// How often proposed shards are tried before they are reported as they are.
const ROUNDS_MAX: usize = 4;

/// What to plan.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The text of the model.
    pub model: String,
    /// How it is used.
    pub workload: Workload,
    /// Assumptions.
    pub options: PlanOptions,
}

/// Assumptions of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanOptions {
    /// How many operations the sample has.
    pub operations: u64,
    /// The seed of everything random.
    pub seed: u64,
    /// How long a transaction takes, in milliseconds: a row takes one at a time.
    pub transaction_ms: f64,
    /// The share of a ceiling that the declared rates may use, from 0 to 1.
    pub headroom: f64,
}

impl Default for PlanOptions {
    fn default() -> PlanOptions {
        PlanOptions { operations: 4000, seed: 1, transaction_ms: 10.0, headroom: 0.7 }
    }
}

/// Plans a workload, and tries the shards that it proposes.
///
/// # Errors
///
/// If the model has errors, or the sample cannot run: an entity cannot be created with sample values.
pub async fn plan(request: &PlanRequest) -> Result<PlanReport, String> {
    let model = checked(&request.model)?;
    let declared = plan_model(&request.model, request).await?;
    let (mut shards, mut tried, mut text) = (vec![], None, None);
    for _ in 0..ROUNDS_MAX {
        let latest = tried.as_ref().unwrap_or(&declared);
        if !proposal::raise(&mut shards, latest, &model, request.options.headroom) {
            break;
        }
        let Some(changed) = declare_shards(&request.model, &model, &shards) else { break };
        tried = Some(plan_model(&changed, request).await?);
        text = Some(changed);
    }
    let proposals = proposal::reports(&shards, &model);
    Ok(PlanReport { declared, proposals, proposed: tried, proposed_model: text })
}

/// Plans a workload of one model.
async fn plan_model(model: &str, request: &PlanRequest) -> Result<Plan, String> {
    let checked = checked(model)?;
    let sample = Sample { model: &checked, workload: &request.workload, options: request.options };
    let tally = sample.play(model).await?;
    Ok(report::plan(&tally, request))
}

fn checked(model: &str) -> Result<Model, String> {
    check(model).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        format!("the model has errors.\n{}", errors.join("\n\n"))
    })
}
