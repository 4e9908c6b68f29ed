//! `TagResource`, `UntagResource` and `ListTagsOfResource`.

use std::collections::BTreeMap;

use keyloom_store::TableDescription;

use crate::json::Writer;
use crate::wire::{Fault, FaultCode};

use super::Endpoint;
use super::arn;
use super::params::{Params, table_name};
use super::violations::Violations;

/// Tags per table.
const TAGS_MAX: usize = 50;

pub(super) async fn tag(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let mut violations = Violations::default();
    violations.required("resourceArn", params.has("ResourceArn"));
    violations.required("tags", params.has("Tags"));
    violations.finish()?;
    let tags = read_list(&params)?;
    if tags.is_empty() {
        return Err(Fault::validation("Atleast one Tag needs to be provided as Input."));
    }
    let table = table(endpoint, &params).await?;
    endpoint
        .change_settings(&table, |settings| {
            settings.tags.extend(tags.clone());
            if settings.tags.len() > TAGS_MAX {
                return Err(Fault::validation(format!("The maximum number of tags is {TAGS_MAX}")));
            }
            Ok(())
        })
        .await?;
    Ok(String::new())
}

pub(super) async fn untag(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let keys = params.texts("TagKeys")?;
    let mut violations = Violations::default();
    violations.required("resourceArn", params.has("ResourceArn"));
    violations.required("tagKeys", keys.is_some());
    violations.finish()?;
    let keys = keys.unwrap_or_default();
    if keys.is_empty() {
        return Err(Fault::validation("Atleast one Tag Key needs to be provided as Input."));
    }
    let table = table(endpoint, &params).await?;
    endpoint
        .change_settings(&table, |settings| {
            settings.tags.retain(|key, _| !keys.contains(&key.as_str()));
            Ok(())
        })
        .await?;
    Ok(String::new())
}

pub(super) async fn list(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let mut violations = Violations::default();
    violations.required("resourceArn", params.has("ResourceArn"));
    violations.finish()?;
    let table = table(endpoint, &params).await?;
    let settings = endpoint.settings(&table).await?;
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("Tags").list(|w| {
            for (key, value) in &settings.tags {
                w.object(|w| {
                    w.name("Key").text(key);
                    w.name("Value").text(value);
                });
            }
        });
    });
    Ok(writer.finish())
}

/// Reads `Tags`.
pub(super) fn read_list(params: &Params<'_>) -> Result<BTreeMap<String, String>, Fault> {
    let mut tags = BTreeMap::new();
    for (position, tag) in params.objects("Tags")?.unwrap_or_default().into_iter().enumerate() {
        let (key, value) = (tag.text("Key")?, tag.text("Value")?);
        let at = |name: &str| format!("tags.{}.member.{name}", position + 1);
        let mut violations = Violations::default();
        violations.required(&at("key"), key.is_some());
        violations.required(&at("value"), value.is_some());
        let (key, value) = (key.unwrap_or_default(), value.unwrap_or_default());
        let shown = format!("'{key}'");
        violations.length(&at("key"), shown, key.chars().count(), 1..=128);
        let shown = format!("'{value}'");
        violations.length(&at("value"), shown, value.chars().count(), 0..=256);
        violations.finish()?;
        tags.insert(key.to_owned(), value.to_owned());
    }
    Ok(tags)
}

async fn table(endpoint: &Endpoint, params: &Params<'_>) -> Result<TableDescription, Fault> {
    let arn = params.text("ResourceArn")?.unwrap_or_default();
    let invalid = || {
        Fault::validation(format!("Invalid TableArn: Invalid ResourceArn provided as input {arn}"))
    };
    let plain = arn::table_of(arn);
    if plain == arn {
        return Err(invalid());
    }
    let name = table_name(plain).map_err(|_| invalid())?;
    endpoint.table(&name).await.map_err(|fault| match fault.code {
        FaultCode::ResourceNotFound => Fault::new(
            FaultCode::ResourceNotFound,
            format!("Requested resource not found: ResourcArn: {arn} not found"),
        ),
        _ => fault,
    })
}
