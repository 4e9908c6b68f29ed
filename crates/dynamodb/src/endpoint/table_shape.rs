//! Keys and indexes in the parameters of a table.

use std::collections::BTreeSet;

use keyloom_store::{
    IndexProjection, IndexScope, IndexSpec, KeyAttribute, KeySchema, KeyType, TableName,
};

use crate::wire::Fault;

use super::params::Params;
use super::settings::Throughput;
use super::violations::Violations;

/// Elements that a message repeats.
const ECHOED_MAX: usize = 100;
const PROJECTIONS: &[&str] = &["ALL", "INCLUDE", "KEYS_ONLY"];

/// The types of key attributes, from `AttributeDefinitions`.
#[derive(Debug, Default)]
pub(super) struct Definitions<'a> {
    types: Vec<(&'a str, KeyType)>,
}

/// One element of a `KeySchema`.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyElement<'a> {
    pub(super) name: &'a str,
    pub(super) is_hash: bool,
}

/// An index as described by the parameters, before its key types are resolved.
#[derive(Debug)]
pub(super) struct IndexShape<'a> {
    pub(super) name: &'a str,
    pub(super) key: Vec<KeyElement<'a>>,
    projection: Option<&'a str>,
    non_key: Option<Vec<&'a str>>,
    pub(super) throughput: Option<Throughput>,
}

impl<'a> Definitions<'a> {
    /// Reads `AttributeDefinitions`.
    pub(super) fn read(
        params: &Params<'a>,
        violations: &mut Violations,
    ) -> Result<Definitions<'a>, Fault> {
        let mut definitions = Definitions::default();
        let elements = params.objects("AttributeDefinitions")?.unwrap_or_default();
        for (position, element) in elements.into_iter().enumerate() {
            let at = |name: &str| format!("attributeDefinitions.{}.member.{name}", position + 1);
            let (name, kind) = (element.text("AttributeName")?, element.text("AttributeType")?);
            violations.required(&at("attributeName"), name.is_some());
            violations.required(&at("attributeType"), kind.is_some());
            violations.one_of(&at("attributeType"), kind, &["B", "N", "S"]);
            let kind = match kind {
                Some("B") => KeyType::B,
                Some("N") => KeyType::N,
                _ => KeyType::S,
            };
            definitions.types.push((name.unwrap_or_default(), kind));
        }
        Ok(definitions)
    }

    pub(super) fn names(&self) -> Vec<&'a str> {
        self.types.iter().map(|(name, _)| *name).collect()
    }

    fn type_of(&self, name: &str) -> Option<KeyType> {
        self.types.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// Rejects an attribute that is defined twice.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let names = self.names();
        let is_twice =
            |(position, name): (usize, &&str)| names.iter().take(position).any(|n| n == name);
        match names.iter().enumerate().find(|named| is_twice(*named)) {
            Some((_, name)) => {
                Err(Fault::validation(format!("Attribute Name is duplicated: {name}")))
            }
            None => Ok(()),
        }
    }

    /// Builds the key schema: hash attributes first, then range attributes.
    pub(super) fn key(&self, elements: &[KeyElement<'_>]) -> Result<KeySchema, Fault> {
        let names: Vec<&str> = elements.iter().map(|element| element.name).collect();
        let attributes: Option<Vec<(bool, KeyAttribute)>> = elements
            .iter()
            .map(|element| {
                let key_type = self.type_of(element.name)?;
                let attribute = KeyAttribute { name: element.name.into(), key_type };
                Some((element.is_hash, attribute))
            })
            .collect();
        let attributes = attributes.ok_or_else(|| {
            Fault::parameter(format!(
                "Some index key attributes are not defined in AttributeDefinitions. Keys: [{}], \
                 AttributeDefinitions: [{}]",
                names.join(", "),
                self.names().join(", ")
            ))
        })?;
        let (partition, sort): (Vec<_>, Vec<_>) =
            attributes.into_iter().partition(|(is_hash, _)| *is_hash);
        let plain = |parts: Vec<(bool, KeyAttribute)>| {
            parts.into_iter().map(|(_, attribute)| attribute).collect()
        };
        Ok(KeySchema { partition: plain(partition), sort: plain(sort) })
    }
}

/// Reads a `KeySchema` of at most `longest` elements.
pub(super) fn key_elements<'a>(
    params: &Params<'a>,
    at: &str,
    longest: usize,
    violations: &mut Violations,
) -> Result<Vec<KeyElement<'a>>, Fault> {
    let elements = params.objects("KeySchema")?;
    violations.required(at, elements.is_some());
    if let Some(elements) = &elements {
        violations.length(at, echo(elements)?, elements.len(), 1..=longest);
    }
    let mut key = Vec::new();
    for (position, element) in elements.unwrap_or_default().into_iter().enumerate() {
        let at = |name: &str| format!("{at}.{}.member.{name}", position + 1);
        let (name, kind) = (element.text("AttributeName")?, element.text("KeyType")?);
        violations.required(&at("attributeName"), name.is_some());
        violations.required(&at("keyType"), kind.is_some());
        violations.one_of(&at("keyType"), kind, &["HASH", "RANGE"]);
        key.push(KeyElement { name: name.unwrap_or_default(), is_hash: kind == Some("HASH") });
    }
    Ok(key)
}

/// Formats a `KeySchema` as the service repeats it.
fn echo(elements: &[Params<'_>]) -> Result<String, Fault> {
    let texts = elements.iter().take(ECHOED_MAX).map(|element| {
        let (name, kind) = (element.text("AttributeName")?, element.text("KeyType")?);
        let (name, kind) = (name.unwrap_or("null"), kind.unwrap_or("null"));
        Ok(format!("KeySchemaElement(attributeName={name}, keyType={kind})"))
    });
    let texts = texts.collect::<Result<Vec<_>, Fault>>()?;
    Ok(format!("'[{}]'", texts.join(", ")))
}

/// Rejects a key whose elements are repeated or in the wrong order.
pub(super) fn check_key(key: &[KeyElement<'_>], most_hash: usize) -> Result<(), Fault> {
    for (position, element) in key.iter().enumerate() {
        if key.iter().take(position).any(|other| other.name == element.name) {
            return Err(Fault::validation(
                "Both the Hash Key and the Range Key element in the KeySchema have the same name",
            ));
        }
    }
    if !key.first().is_some_and(|element| element.is_hash) {
        return Err(Fault::validation(
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ));
    }
    let hashes = key.iter().take_while(|element| element.is_hash).count();
    if hashes > most_hash || key.iter().skip(hashes).any(|element| element.is_hash) {
        return Err(Fault::validation(
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
        ));
    }
    Ok(())
}

/// Reads `ProvisionedThroughput`, or a parameter of another name that is like it, if present.
pub(super) fn throughput(
    params: &Params<'_>,
    name: &str,
    at: &str,
    violations: &mut Violations,
) -> Result<Option<Throughput>, Fault> {
    let Some(units) = params.object(name)? else { return Ok(None) };
    let mut read = |name: &str, member: &str| {
        let units = units.integer(name)?;
        violations.required(&format!("{at}.{member}"), units.is_some());
        violations.at_least(&format!("{at}.{member}"), units, 1);
        Ok(units.and_then(|units| u64::try_from(units).ok()).unwrap_or_default())
    };
    Ok(Some(Throughput {
        write: read("WriteCapacityUnits", "writeCapacityUnits")?,
        read: read("ReadCapacityUnits", "readCapacityUnits")?,
    }))
}

impl<'a> IndexShape<'a> {
    /// Reads one index. The key of a global index can have several attributes of each kind.
    pub(super) fn read(
        params: &Params<'a>,
        at: &str,
        scope: IndexScope,
        violations: &mut Violations,
    ) -> Result<IndexShape<'a>, Fault> {
        let name = params.text("IndexName")?;
        violations.required(&format!("{at}.indexName"), name.is_some());
        if let Some(name) = name {
            violations.name(&format!("{at}.indexName"), name);
        }
        let longest = match scope {
            IndexScope::Global => 8,
            IndexScope::Local => 2,
        };
        let key = key_elements(params, &format!("{at}.keySchema"), longest, violations)?;
        let projection = params.object("Projection")?;
        violations.required(&format!("{at}.projection"), projection.is_some());
        let (mut kind, mut non_key) = (None, None);
        if let Some(projection) = projection {
            kind = projection.text("ProjectionType")?;
            violations.one_of(&format!("{at}.projection.projectionType"), kind, PROJECTIONS);
            non_key = projection.texts("NonKeyAttributes")?;
            if let Some(names) = &non_key {
                let at = format!("{at}.projection.nonKeyAttributes");
                let shown = names.iter().take(ECHOED_MAX).copied().collect::<Vec<_>>().join(", ");
                violations.length(&at, format_args!("'[{shown}]'"), names.len(), 1..=100);
            }
        }
        let units_at = format!("{at}.provisionedThroughput");
        let throughput = throughput(params, "ProvisionedThroughput", &units_at, violations)?;
        let name = name.unwrap_or_default();
        Ok(IndexShape { name, key, projection: kind, non_key, throughput })
    }

    /// Builds the spec of the index.
    pub(super) fn spec(
        &self,
        scope: IndexScope,
        definitions: &Definitions<'_>,
    ) -> Result<IndexSpec, Fault> {
        let key = definitions.key(&self.key)?;
        check_key(&self.key, if scope == IndexScope::Global { 4 } else { 1 })?;
        let names = self.non_key.as_deref().unwrap_or_default();
        let mut seen = BTreeSet::new();
        if let Some(name) = names.iter().find(|name| !seen.insert(**name)) {
            let message = format!("Duplicate element in NonKeyAttributes: {name}");
            return Err(Fault::parameter(message));
        }
        let projection = match (self.projection, &self.non_key) {
            (None, _) => return Err(Fault::parameter("Unknown ProjectionType: null")),
            (Some("INCLUDE"), Some(names)) => {
                IndexProjection::Include(names.iter().map(|name| (*name).into()).collect())
            }
            (Some("INCLUDE"), None) => {
                return Err(Fault::parameter(
                    "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
                ));
            }
            (Some(kind), Some(_)) => {
                return Err(Fault::parameter(format!(
                    "ProjectionType is {kind}, but NonKeyAttributes is specified"
                )));
            }
            (Some("KEYS_ONLY"), None) => IndexProjection::Keys,
            (Some(_), None) => IndexProjection::All,
        };
        let name = TableName::new(self.name);
        let name = name.map_err(|invalid| Fault::validation(invalid.to_string()))?;
        Ok(IndexSpec { name, scope, key, projection })
    }
}
