//! `CreateTable`.

use std::collections::BTreeMap;

use keyloom_store::{Feed, IndexScope, IndexSpec, TableName, TableSpec};

use crate::wire::Fault;

use super::Endpoint;
use super::params::Params;
use super::refusal;
use super::settings::{Settings, Stream, StreamView, Throughput, is_internal_table};
use super::table_description;
use super::table_shape::{
    Definitions, IndexShape, KeyElement, check_key, key_elements, throughput,
};
use super::tags;
use super::violations::Violations;

/// The highest provisioned throughput.
const UNITS_MAX: u64 = 1_000_000_000_000;

/// A table as described by the parameters, all of which satisfy their own constraints.
struct TableShape<'a> {
    name: TableName,
    key: Vec<KeyElement<'a>>,
    definitions: Definitions<'a>,
    local: Option<Vec<IndexShape<'a>>>,
    global: Option<Vec<IndexShape<'a>>>,
    is_per_request: bool,
    throughput: Option<Throughput>,
}

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let shape = read(&params)?;
    check_billing(&shape)?;
    let spec = spec(&shape, &params)?;
    let stream = stream(&params, StreamWords::CREATE)?;
    let class = class(&params)?.map(str::to_owned);
    let tags = tags::read_list(&params)?;
    if is_internal_table(&spec.name) {
        return Err(Fault::parameter("The table name is reserved by this server"));
    }
    let name = spec.name.clone();
    let feed = if stream.is_some() { Feed::Images } else { Feed::Off };
    let refused = |error| refusal::table_fault(endpoint, &name, error);
    // The store may allow more than the service does.
    spec.check().map_err(refused)?;
    let created = endpoint.store.create_table(TableSpec { feed, ..spec }).await;
    let table = created.map_err(refused)?;
    let index_throughput: BTreeMap<String, Throughput> = shape
        .global
        .iter()
        .flatten()
        .filter_map(|index| Some((index.name.to_owned(), index.throughput?)))
        .collect();
    let enabled_at = endpoint.options.clock.now();
    let is_protected = params.boolean("DeletionProtectionEnabled")?.unwrap_or_default();
    let settings = endpoint
        .change_settings(&table, |settings| {
            *settings = Settings {
                throughput: shape.throughput.filter(|_| !shape.is_per_request),
                index_throughput: index_throughput.clone(),
                tags: tags.clone(),
                stream: stream.map(|view| Stream::new(view, enabled_at, None)),
                is_protected,
                class: class.clone(),
                ..settings.clone()
            };
            Ok(())
        })
        .await?;
    let status = endpoint.table_status(&table.spec.name);
    Ok(table_description::response(endpoint, "TableDescription", &table, &settings, status))
}

fn read<'a>(params: &Params<'a>) -> Result<TableShape<'a>, Fault> {
    let name = params.text("TableName")?;
    let Some(name) = name else {
        return Err(Fault::validation(
            "The parameter 'TableName' is required but was not present in the request",
        ));
    };
    let mut violations = Violations::default();
    violations.required("attributeDefinitions", params.has("AttributeDefinitions"));
    let definitions = Definitions::read(params, &mut violations)?;
    violations.name("tableName", name);
    let billing = params.text("BillingMode")?;
    violations.one_of("billingMode", billing, &["PROVISIONED", "PAY_PER_REQUEST"]);
    let throughput =
        throughput(params, "ProvisionedThroughput", "provisionedThroughput", &mut violations)?;
    let key = key_elements(params, "keySchema", 2, &mut violations)?;
    let global = indexes(params, "GlobalSecondaryIndexes", IndexScope::Global, &mut violations)?;
    let local = indexes(params, "LocalSecondaryIndexes", IndexScope::Local, &mut violations)?;
    violations.finish()?;
    let name = TableName::new(name);
    Ok(TableShape {
        name: name.map_err(|invalid| Fault::validation(invalid.to_string()))?,
        key,
        definitions,
        local,
        global,
        is_per_request: billing == Some("PAY_PER_REQUEST"),
        throughput,
    })
}

fn indexes<'a>(
    params: &Params<'a>,
    name: &str,
    scope: IndexScope,
    violations: &mut Violations,
) -> Result<Option<Vec<IndexShape<'a>>>, Fault> {
    let Some(elements) = params.objects(name)? else { return Ok(None) };
    let mut at = name.to_owned();
    at[..1].make_ascii_lowercase();
    let shapes = elements.iter().enumerate().map(|(position, element)| {
        IndexShape::read(element, &format!("{at}.{}.member", position + 1), scope, violations)
    });
    shapes.collect::<Result<_, _>>().map(Some)
}

fn check_billing(shape: &TableShape<'_>) -> Result<(), Fault> {
    match (shape.is_per_request, shape.throughput) {
        (true, Some(_)) => {
            return Err(Fault::parameter(
                "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when \
                 BillingMode is PAY_PER_REQUEST",
            ));
        }
        (false, None) => {
            return Err(Fault::parameter(
                "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode \
                 is PROVISIONED",
            ));
        }
        (true, None) => {}
        (false, Some(Throughput { read, write })) => {
            for (name, units) in [("ReadCapacityUnits", read), ("WriteCapacityUnits", write)] {
                if units > UNITS_MAX {
                    let message = format!("Given value {units} for {name} is out of bounds");
                    return Err(Fault::validation(message));
                }
            }
        }
    }
    let mut indexes = shape.global.iter().flatten();
    match indexes.find(|index| shape.is_per_request == index.throughput.is_some()) {
        Some(index) if shape.is_per_request => Err(Fault::parameter(format!(
            "ProvisionedThroughput should not be specified for index: {} when BillingMode is \
             PAY_PER_REQUEST",
            index.name
        ))),
        Some(index) => Err(Fault::parameter(format!(
            "ProvisionedThroughput is not specified for index: {}",
            index.name
        ))),
        None => Ok(()),
    }
}

/// Reads `TableClass`, which is reported, not enforced.
pub(super) fn class<'a>(params: &Params<'a>) -> Result<Option<&'a str>, Fault> {
    match params.text("TableClass")? {
        class @ (None | Some("STANDARD" | "STANDARD_INFREQUENT_ACCESS")) => Ok(class),
        Some(_) => Err(Fault::validation(
            "Invalid table-class parameter provided. Please try again with a valid table-class \
             value: [STANDARD, STANDARD_INFREQUENT_ACCESS].",
        )),
    }
}

fn spec(shape: &TableShape<'_>, params: &Params<'_>) -> Result<TableSpec, Fault> {
    if params.has("Replicas") || params.has("GlobalTableWitnesses") {
        return Err(Fault::validation("Global tables are not supported by this server"));
    }
    let defined = shape.definitions.names();
    shape.definitions.check()?;
    if shape.key.len() > defined.len() {
        return Err(Fault::validation(
            "Invalid KeySchema: Some index key attribute have no definition",
        ));
    }
    let key = shape.definitions.key(&shape.key)?;
    check_key(&shape.key, 1)?;
    if shape.local.is_none() && shape.global.is_none() && shape.key.len() != defined.len() {
        return Err(Fault::parameter(
            "Number of attributes in KeySchema does not exactly match number of attributes \
             defined in AttributeDefinitions",
        ));
    }
    let mut spec = TableSpec::new(shape.name.clone(), key);
    add_indexes(&mut spec, shape, IndexScope::Local)?;
    add_indexes(&mut spec, shape, IndexScope::Global)?;
    check_definitions_used(&spec, &defined)?;
    Ok(spec)
}

fn add_indexes(
    spec: &mut TableSpec,
    shape: &TableShape<'_>,
    scope: IndexScope,
) -> Result<(), Fault> {
    let (shapes, what, most) = match scope {
        IndexScope::Local => (&shape.local, "LocalSecondaryIndexes", 5),
        IndexScope::Global => (&shape.global, "GlobalSecondaryIndexes", 20),
    };
    let Some(shapes) = shapes else { return Ok(()) };
    if shapes.is_empty() {
        return Err(Fault::parameter(format!("List of {what} is empty")));
    }
    if scope == IndexScope::Local && spec.key.sort.is_empty() {
        return Err(Fault::parameter(
            "Table KeySchema does not have a range key, which is required when specifying a \
             LocalSecondaryIndex",
        ));
    }
    for index in shapes {
        let index = index.spec(scope, &shape.definitions)?;
        if scope == IndexScope::Local {
            check_local(spec, &index)?;
        }
        if spec.indexes.iter().any(|other| other.name == index.name) {
            return Err(Fault::parameter(format!("Duplicate index name: {}", index.name)));
        }
        spec.indexes.push(index);
    }
    if shapes.len() > most {
        return Err(Fault::parameter(match scope {
            IndexScope::Local => {
                "Number of LocalSecondaryIndexes exceeds per-table limit of 5".to_owned()
            }
            IndexScope::Global => {
                "GlobalSecondaryIndex count exceeds the per-table limit of 20".to_owned()
            }
        }));
    }
    Ok(())
}

fn check_local(spec: &TableSpec, index: &IndexSpec) -> Result<(), Fault> {
    let name = &index.name;
    if index.key.sort.is_empty() {
        return Err(Fault::parameter(format!(
            "Index KeySchema does not have a range key for index: {name}"
        )));
    }
    match (index.key.partition.first(), spec.key.partition.first()) {
        (Some(of_index), Some(of_table)) if of_index.name != of_table.name => {
            Err(Fault::parameter(format!(
                "Index KeySchema does not have the same leading hash key as table KeySchema for \
                 index: {name}. index hash key: {}, table hash key: {}",
                of_index.name, of_table.name
            )))
        }
        _ => Ok(()),
    }
}

fn check_definitions_used(spec: &TableSpec, defined: &[&str]) -> Result<(), Fault> {
    let indexes = spec.indexes.iter().flat_map(|index| index.key.attributes());
    let mut used: Vec<&str> = Vec::new();
    for attribute in spec.key.attributes().chain(indexes) {
        if !used.contains(&attribute.name.as_str()) {
            used.push(attribute.name.as_str());
        }
    }
    if defined.iter().all(|name| used.contains(name)) {
        return Ok(());
    }
    Err(Fault::parameter(format!(
        "Some AttributeDefinitions are not used. AttributeDefinitions: [{}], keys used: [{}]",
        defined.join(", "),
        used.join(", ")
    )))
}

/// The messages for a `StreamSpecification` that contradicts itself.
#[derive(Clone, Copy)]
pub(super) struct StreamWords {
    lacks_view: &'static str,
    has_view: &'static str,
}

impl StreamWords {
    pub(super) const CREATE: StreamWords = StreamWords {
        lacks_view: "Table is being created with a stream enabled, UpdateViewType is required",
        has_view: "Table is being created with a stream disabled, UpdateViewType should not be \
                   specified",
    };
    pub(super) const UPDATE: StreamWords = StreamWords {
        lacks_view: "If stream is being enabled then UpdateViewType is required",
        has_view: "If stream is being disabled, then UpdateViewType must not be specified",
    };
}

/// Returns the view of the stream that `StreamSpecification` enables.
pub(super) fn stream(params: &Params<'_>, words: StreamWords) -> Result<Option<StreamView>, Fault> {
    let Some(stream) = params.object("StreamSpecification")? else { return Ok(None) };
    let view = stream.text("StreamViewType")?;
    let mut violations = Violations::default();
    let enabled = stream.boolean("StreamEnabled")?;
    violations.required("streamSpecification.streamEnabled", enabled.is_some());
    violations.one_of("streamSpecification.streamViewType", view, StreamView::NAMES);
    violations.finish()?;
    match (enabled.unwrap_or_default(), view.and_then(StreamView::of_name)) {
        (true, None) => Err(Fault::parameter(words.lacks_view)),
        (false, Some(_)) => Err(Fault::parameter(words.has_view)),
        (true, view) => Ok(view),
        (false, None) => Ok(None),
    }
}
