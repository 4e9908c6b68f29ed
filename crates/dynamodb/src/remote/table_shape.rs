//! Converts table specs to the SDK's types, and descriptions back.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, CreateGlobalSecondaryIndexAction, GlobalSecondaryIndex,
    GlobalSecondaryIndexDescription, IndexStatus, KeySchemaElement, KeyType as SdkKeyType,
    LocalSecondaryIndex, LocalSecondaryIndexDescription, Projection, ProjectionType,
    ScalarAttributeType, StreamSpecification, StreamViewType, TableDescription as SdkTable,
};
use keyloom_store::{
    Error, Feed, IndexDescription, IndexProjection, IndexScope, IndexSpec, IndexState,
    KeyAttribute, KeySchema, KeyType, TableDescription, TableName, TableSpec,
};
use keyloom_value::Name;

use super::refusal::incomplete;
use super::values::{count, time};

const DESCRIBE: &str = "DescribeTable";

/// Returns the key attributes with their types, without duplicates.
pub(super) fn definitions<'a>(
    keys: impl Iterator<Item = &'a KeySchema>,
) -> Result<Vec<AttributeDefinition>, BuildError> {
    let mut attributes: Vec<&KeyAttribute> = Vec::new();
    for attribute in keys.flat_map(KeySchema::attributes) {
        if !attributes.contains(&attribute) {
            attributes.push(attribute);
        }
    }
    let definition = |attribute: &KeyAttribute| {
        let key_type = match attribute.key_type {
            KeyType::S => ScalarAttributeType::S,
            KeyType::N => ScalarAttributeType::N,
            KeyType::B => ScalarAttributeType::B,
        };
        let definition = AttributeDefinition::builder().attribute_name(attribute.name.as_str());
        definition.attribute_type(key_type).build()
    };
    attributes.into_iter().map(definition).collect()
}

pub(super) fn key_schema(key: &KeySchema) -> Result<Vec<KeySchemaElement>, BuildError> {
    let element = |part: &KeyAttribute, key_type: SdkKeyType| {
        let element = KeySchemaElement::builder().attribute_name(part.name.as_str());
        element.key_type(key_type).build()
    };
    let partition = key.partition.iter().map(|part| element(part, SdkKeyType::Hash));
    partition.chain(key.sort.iter().map(|part| element(part, SdkKeyType::Range))).collect()
}

pub(super) fn global_index(index: &IndexSpec) -> Result<GlobalSecondaryIndex, BuildError> {
    GlobalSecondaryIndex::builder()
        .index_name(index.name.as_str())
        .set_key_schema(Some(key_schema(&index.key)?))
        .projection(projection(&index.projection))
        .build()
}

pub(super) fn new_global_index(
    index: &IndexSpec,
) -> Result<CreateGlobalSecondaryIndexAction, BuildError> {
    CreateGlobalSecondaryIndexAction::builder()
        .index_name(index.name.as_str())
        .set_key_schema(Some(key_schema(&index.key)?))
        .projection(projection(&index.projection))
        .build()
}

pub(super) fn local_index(index: &IndexSpec) -> Result<LocalSecondaryIndex, BuildError> {
    LocalSecondaryIndex::builder()
        .index_name(index.name.as_str())
        .set_key_schema(Some(key_schema(&index.key)?))
        .projection(projection(&index.projection))
        .build()
}

fn projection(projection: &IndexProjection) -> Projection {
    let builder = Projection::builder();
    match projection {
        IndexProjection::All => builder.projection_type(ProjectionType::All),
        IndexProjection::Keys => builder.projection_type(ProjectionType::KeysOnly),
        IndexProjection::Include(names) => builder
            .projection_type(ProjectionType::Include)
            .set_non_key_attributes(Some(names.iter().map(ToString::to_string).collect())),
    }
    .build()
}

pub(super) fn stream(feed: Feed) -> Result<StreamSpecification, BuildError> {
    let stream = StreamSpecification::builder();
    match feed {
        Feed::Off => stream.stream_enabled(false),
        Feed::Images => {
            stream.stream_enabled(true).stream_view_type(StreamViewType::NewAndOldImages)
        }
    }
    .build()
}

/// Converts a table description. It does not include the time to live.
pub(super) fn table(sdk: &SdkTable) -> Result<TableDescription, Error> {
    let name = sdk.table_name().ok_or_else(|| incomplete(DESCRIBE, "the table's name"))?;
    let types = sdk.attribute_definitions();
    let mut spec = TableSpec::new(TableName::new(name)?, key(sdk.key_schema(), types)?);
    let is_feed = |stream: &StreamSpecification| {
        stream.stream_enabled && stream.stream_view_type == Some(StreamViewType::NewAndOldImages)
    };
    if sdk.stream_specification().is_some_and(is_feed) {
        spec.feed = Feed::Images;
    }
    let mut indexes = Vec::new();
    for index in sdk.local_secondary_indexes() {
        let (index, now) = local(index, types)?;
        spec.indexes.push(index);
        indexes.push(now);
    }
    for index in sdk.global_secondary_indexes() {
        let (index, now) = global(index, types, count(sdk.item_count()))?;
        spec.indexes.push(index);
        indexes.push(now);
    }
    Ok(TableDescription {
        spec,
        created: time(sdk.creation_date_time()),
        items: count(sdk.item_count()),
        bytes: count(sdk.table_size_bytes()),
        indexes,
    })
}

fn local(
    sdk: &LocalSecondaryIndexDescription,
    types: &[AttributeDefinition],
) -> Result<(IndexSpec, IndexDescription), Error> {
    let name = TableName::new(sdk.index_name().unwrap_or_default())?;
    let spec = IndexSpec {
        name: name.clone(),
        scope: IndexScope::Local,
        key: key(sdk.key_schema(), types)?,
        projection: index_projection(sdk.projection()),
    };
    let (items, bytes) = (count(sdk.item_count()), count(sdk.index_size_bytes()));
    Ok((spec, IndexDescription { name, state: IndexState::Active, items, bytes }))
}

fn global(
    sdk: &GlobalSecondaryIndexDescription,
    types: &[AttributeDefinition],
    total: u64,
) -> Result<(IndexSpec, IndexDescription), Error> {
    let name = TableName::new(sdk.index_name().unwrap_or_default())?;
    let spec = IndexSpec {
        name: name.clone(),
        scope: IndexScope::Global,
        key: key(sdk.key_schema(), types)?,
        projection: index_projection(sdk.projection()),
    };
    let (items, bytes) = (count(sdk.item_count()), count(sdk.index_size_bytes()));
    let state = match sdk.index_status() {
        Some(IndexStatus::Creating) => IndexState::Building { done: items, total },
        _ => IndexState::Active,
    };
    Ok((spec, IndexDescription { name, state, items, bytes }))
}

fn key(sdk: &[KeySchemaElement], types: &[AttributeDefinition]) -> Result<KeySchema, Error> {
    let mut key = KeySchema { partition: vec![], sort: vec![] };
    for element in sdk {
        let name = element.attribute_name();
        let definition = types.iter().find(|definition| definition.attribute_name() == name);
        let key_type = match definition.map(AttributeDefinition::attribute_type) {
            Some(ScalarAttributeType::S) => KeyType::S,
            Some(ScalarAttributeType::N) => KeyType::N,
            Some(ScalarAttributeType::B) => KeyType::B,
            _ => return Err(incomplete(DESCRIBE, "the type of a key attribute")),
        };
        let part = KeyAttribute { name: Name::from(name), key_type };
        match element.key_type() {
            SdkKeyType::Range => key.sort.push(part),
            _ => key.partition.push(part),
        }
    }
    Ok(key)
}

fn index_projection(sdk: Option<&Projection>) -> IndexProjection {
    match sdk.and_then(Projection::projection_type) {
        Some(ProjectionType::KeysOnly) => IndexProjection::Keys,
        Some(ProjectionType::Include) => {
            let names = sdk.map(Projection::non_key_attributes).unwrap_or_default();
            IndexProjection::Include(names.iter().map(Name::from).collect())
        }
        _ => IndexProjection::All,
    }
}
