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
            check_count(&settings.tags)
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
        check(key, value)?;
        if tags.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(Fault::validation(format!(
                "Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}"
            )));
        }
    }
    check_count(&tags)?;
    Ok(tags)
}

/// Letters, digits, spaces and a few other characters of any script.
fn check(key: &str, value: &str) -> Result<(), Fault> {
    let is_allowed = |c: char| {
        c.is_alphanumeric()
            || c.is_whitespace()
            || matches!(c, '+' | '-' | '=' | '.' | '_' | ':' | '/' | '@')
    };
    if key.to_ascii_lowercase().starts_with("aws:") {
        let message = format!("Tag Key cannot be prefixed with aws:, Key: {key}");
        return Err(Fault::validation(message));
    }
    if !key.chars().all(is_allowed) {
        return Err(Fault::validation(format!("The Tag Key provided is invalid, Key: {key}")));
    }
    if !value.chars().all(is_allowed) {
        let message = format!("The Tag Value provided is invalid, Value: {value}");
        return Err(Fault::validation(message));
    }
    Ok(())
}

fn check_count(tags: &BTreeMap<String, String>) -> Result<(), Fault> {
    match tags.len() > TAGS_MAX {
        true => Err(Fault::validation(
            "Number of Tags exceed the current limit for the provided ResourceArn",
        )),
        false => Ok(()),
    }
}

async fn table(endpoint: &Endpoint, params: &Params<'_>) -> Result<TableDescription, Fault> {
    let arn = params.text("ResourceArn")?.unwrap_or_default();
    if !arn.starts_with("arn:") {
        return Err(Fault::parameter(format!("ARNs must start with 'arn:': {arn}")));
    }
    let plain = arn::table_of(arn);
    if plain == arn {
        let message = format!("Provided Arn is not a DynamoDB resource arn: {arn}");
        return Err(Fault::parameter(message));
    }
    if !arn.ends_with(&format!(":table/{plain}")) {
        return Err(Fault::parameter(format!(
            "Invalid resource arn provided, only table or stream is accepted. Provided resource \
             arn: {arn}"
        )));
    }
    let invalid = || {
        Fault::validation(format!("Invalid TableArn: Invalid ResourceArn provided as input {arn}"))
    };
    let name = table_name(plain).map_err(|_| invalid())?;
    endpoint.table(&name).await.map_err(|fault| match fault.code {
        FaultCode::ResourceNotFound => Fault::new(
            FaultCode::ResourceNotFound,
            format!("Requested resource not found: ResourcArn: {arn} not found"),
        ),
        _ => fault,
    })
}
