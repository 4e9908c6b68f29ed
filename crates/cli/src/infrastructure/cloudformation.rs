//! The CloudFormation template of the tables.

use keyloom_store::{
    Feed, IndexProjection, IndexSpec, KeyAttribute, KeySchema, KeyType, TableSpec,
};
use serde_json::{Map, Value, json};

use super::Tables;

/// The condition under which capacity is provisioned.
const PROVISIONED: &str = "IsProvisioned";

/// Returns the template.
pub(super) fn template(tables: &Tables) -> Value {
    json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": format!("The tables of the Keyloom database `{}`", tables.data.name),
        "Parameters": {
            "CapacityMode": {
                "Type": "String",
                "AllowedValues": ["PAY_PER_REQUEST", "PROVISIONED"],
                "Default": "PAY_PER_REQUEST",
                "Description": "On-demand, or provisioned with the units below",
            },
            "ReadUnits": units("Provisioned read units of each table and index"),
            "WriteUnits": units("Provisioned write units of the data and of each index"),
        },
        "Conditions": {
            PROVISIONED: { "Fn::Equals": [{ "Ref": "CapacityMode" }, "PROVISIONED"] },
        },
        "Resources": {
            "Data": resource(&tables.data, &throughput(&json!({ "Ref": "WriteUnits" }))),
            // The token of every request is read; tokens are hardly ever written.
            "Tokens": resource(&tables.tokens, &throughput(&json!(1))),
        },
        "Outputs": {
            "DataTable": { "Value": { "Ref": "Data" } },
            "DataTableArn": { "Value": { "Fn::GetAtt": ["Data", "Arn"] } },
            "StreamArn": { "Value": { "Fn::GetAtt": ["Data", "StreamArn"] } },
            "TokensTableArn": { "Value": { "Fn::GetAtt": ["Tokens", "Arn"] } },
        },
    })
}

fn units(description: &str) -> Value {
    json!({ "Type": "Number", "MinValue": 1, "Default": 5, "Description": description })
}

/// The provisioned units; none on demand.
fn throughput(write_units: &Value) -> Value {
    let read_units = json!({ "Ref": "ReadUnits" });
    let units = json!({ "ReadCapacityUnits": read_units, "WriteCapacityUnits": write_units });
    json!({ "Fn::If": [PROVISIONED, units, { "Ref": "AWS::NoValue" }] })
}

/// A table. Data outlives the stack: it is kept when the stack or the table is removed from it.
fn resource(spec: &TableSpec, throughput: &Value) -> Value {
    json!({
        "Type": "AWS::DynamoDB::Table",
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": properties(spec, throughput),
    })
}

fn properties(spec: &TableSpec, throughput: &Value) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut set = |name: &str, value: Value| drop(properties.insert(name.to_owned(), value));
    set("TableName", json!(spec.name.as_str()));
    set("AttributeDefinitions", definitions(spec));
    set("KeySchema", key_schema(&spec.key));
    set("BillingMode", json!({ "Ref": "CapacityMode" }));
    set("ProvisionedThroughput", throughput.clone());
    set("PointInTimeRecoverySpecification", json!({ "PointInTimeRecoveryEnabled": true }));
    set("DeletionProtectionEnabled", json!(true));
    if !spec.indexes.is_empty() {
        let indexes = spec.indexes.iter().map(|index| global_index(index, throughput));
        set("GlobalSecondaryIndexes", indexes.collect());
    }
    if let Some(attribute) = &spec.ttl {
        let ttl = json!({ "AttributeName": attribute.as_str(), "Enabled": true });
        set("TimeToLiveSpecification", ttl);
    }
    match spec.feed {
        Feed::Off => {}
        Feed::Images => {
            set("StreamSpecification", json!({ "StreamViewType": "NEW_AND_OLD_IMAGES" }))
        }
    }
    properties
}

/// The key attributes with their types, each once.
fn definitions(spec: &TableSpec) -> Value {
    let keys = std::iter::once(&spec.key).chain(spec.indexes.iter().map(|index| &index.key));
    let mut attributes: Vec<&KeyAttribute> = vec![];
    for attribute in keys.flat_map(KeySchema::attributes) {
        if !attributes.contains(&attribute) {
            attributes.push(attribute);
        }
    }
    let definition = |attribute: &KeyAttribute| {
        let kind = match attribute.key_type {
            KeyType::S => "S",
            KeyType::N => "N",
            KeyType::B => "B",
        };
        json!({ "AttributeName": attribute.name.as_str(), "AttributeType": kind })
    };
    attributes.into_iter().map(definition).collect()
}

fn key_schema(key: &KeySchema) -> Value {
    let element = |part: &KeyAttribute, kind: &str| json!({ "AttributeName": part.name.as_str(), "KeyType": kind });
    let partition = key.partition.iter().map(|part| element(part, "HASH"));
    partition.chain(key.sort.iter().map(|part| element(part, "RANGE"))).collect()
}

fn global_index(index: &IndexSpec, throughput: &Value) -> Value {
    let projection = match &index.projection {
        IndexProjection::All => json!({ "ProjectionType": "ALL" }),
        IndexProjection::Keys => json!({ "ProjectionType": "KEYS_ONLY" }),
        IndexProjection::Include(names) => {
            let names: Vec<&str> = names.iter().map(keyloom_value::Name::as_str).collect();
            json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": names })
        }
    };
    json!({
        "IndexName": index.name.as_str(),
        "KeySchema": key_schema(&index.key),
        "Projection": projection,
        "ProvisionedThroughput": throughput,
    })
}
