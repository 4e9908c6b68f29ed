//! How the rules of time zones are stored with the model that uses them.

use keyloom_model::{ZoneSource, ZoneSources};
use keyloom_value::{Item, Value};

const RELEASE: &str = "release";
const TZIF: &str = "tzif";

/// By name of the zone; none if there are no rules to store.
pub(crate) fn to_value(zones: &ZoneSources) -> Option<Value> {
    let rules = |source: &ZoneSource| {
        let ZoneSource { release, tzif } = source;
        Value::M(Item::from([
            (RELEASE, Value::from(release.as_str())),
            (TZIF, Value::B(tzif.clone())),
        ]))
    };
    let zones = zones.0.iter().map(|(name, source)| (name.as_str().into(), rules(source)));
    let zones: Item = zones.collect();
    (!zones.is_empty()).then_some(Value::M(zones))
}

/// Versions without time zones have stored none.
pub(crate) fn read(stored: Option<&Value>) -> Option<ZoneSources> {
    let zones = match stored {
        None => return Some(ZoneSources::default()),
        Some(Value::M(zones)) => zones,
        Some(_) => return None,
    };
    let read = |(name, rules): (&keyloom_value::Name, &Value)| {
        let Value::M(rules) = rules else { return None };
        let release = rules.get(RELEASE)?.as_s()?.to_owned();
        let tzif = rules.get(TZIF)?.as_b()?.to_vec();
        Some((name.as_str().to_owned(), ZoneSource { release, tzif }))
    };
    Some(ZoneSources(zones.iter().map(read).collect::<Option<_>>()?))
}
