//! `UpdateTimeToLive` and `DescribeTimeToLive`.

use keyloom_store::Alteration;

use crate::json::Writer;
use crate::wire::Fault;

use super::Endpoint;
use super::params::Params;
use super::refusal;
use super::tables::required_table;
use super::violations::Violations;

pub(super) async fn update(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let wanted = params.object("TimeToLiveSpecification")?;
    let mut violations = Violations::default();
    violations.required("timeToLiveSpecification", wanted.is_some());
    let (mut attribute, mut enabled) = (None, None);
    if let Some(wanted) = wanted {
        attribute = wanted.text("AttributeName")?;
        enabled = wanted.boolean("Enabled")?;
        let at = "timeToLiveSpecification.attributeName";
        violations.required(at, attribute.is_some());
        if let Some(name) = attribute {
            violations.length(at, format_args!("'{name}'"), name.len(), 1..=255);
        }
        violations.required("timeToLiveSpecification.enabled", enabled.is_some());
    }
    violations.finish()?;
    let (attribute, enabled) = (attribute.unwrap_or_default(), enabled.unwrap_or_default());
    let name = required_table(&params)?;
    let table = endpoint.table(&name).await?;
    let change = match (table.spec.ttl.as_ref(), enabled) {
        (Some(_), true) => {
            return Err(Fault::validation("TimeToLive is already enabled"));
        }
        (None, false) => {
            return Err(Fault::validation("TimeToLive is already disabled"));
        }
        (Some(now), false) if now.as_str() != attribute => {
            return Err(Fault::validation(format!(
                "TimeToLive is active on a different AttributeName: current AttributeName is {now}"
            )));
        }
        (Some(_), false) => None,
        (None, true) => Some(attribute.into()),
    };
    let altered = endpoint.store.alter_table(name.clone(), Alteration::SetTtl(change)).await;
    altered.map_err(|error| refusal::table_fault(endpoint, &name, error))?;
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("TimeToLiveSpecification").object(|w| {
            w.name("AttributeName").text(attribute);
            w.name("Enabled").boolean(enabled);
        });
    });
    Ok(writer.finish())
}

pub(super) async fn describe(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let table = endpoint.table(&required_table(&params)?).await?;
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("TimeToLiveDescription").object(|w| match &table.spec.ttl {
            Some(attribute) => {
                w.name("AttributeName").text(attribute.as_str());
                w.name("TimeToLiveStatus").text("ENABLED");
            }
            None => w.name("TimeToLiveStatus").text("DISABLED"),
        });
    });
    Ok(writer.finish())
}
