//! The heat report: units by partition of every table and index, and the heaviest keys.

use keyloom_store::Time;

use super::partitions::{Partition, Unsplit};
use super::position::Position;
use super::spaces::{Capacity, Spaces};
use super::usage::Meter;
use crate::json::Writer;

/// How many keys of a space are reported.
const KEYS_MAX: usize = 10;

/// What strict mode measured: the units of each partition of tables and global indexes, and the
/// partition keys that consumed the most.
#[derive(Clone, Debug)]
pub struct Heat {
    conflicts: u64,
    spaces: Vec<SpaceHeat>,
}

#[derive(Clone, Debug)]
struct SpaceHeat {
    table: String,
    index: Option<String>,
    splits: u64,
    partitions: Vec<PartitionHeat>,
    keys: Vec<KeyHeat>,
}

#[derive(Clone, Debug)]
struct PartitionHeat {
    start: String,
    read: Rates,
    write: Rates,
    throttled: u64,
    unsplit: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
struct Rates {
    total: f64,
    per_second: f64,
    busiest: f64,
}

#[derive(Clone, Debug)]
struct KeyHeat {
    key: String,
    units: f64,
}

impl Heat {
    pub(super) fn new(spaces: &Spaces, conflicts: u64, now: Time) -> Heat {
        let spaces = spaces.iter().map(|(space, capacity)| {
            let index = space.index.as_ref().map(ToString::to_string);
            SpaceHeat::new(space.table.to_string(), index, capacity, now)
        });
        Heat { conflicts, spaces: spaces.collect() }
    }

    /// Writes the report as JSON. Rates are units per second over the last minute.
    pub fn json(&self) -> String {
        let mut writer = Writer::new();
        writer.object(|w| {
            w.name("conflicts").number(self.conflicts);
            w.name("spaces").list(|w| self.spaces.iter().for_each(|space| space.write_json(w)));
        });
        writer.finish()
    }

    /// Writes the report as a page that renews itself.
    pub fn html(&self) -> String {
        let mut page = String::from(PAGE_HEAD);
        if self.spaces.is_empty() {
            page.push_str("<p>No requests yet.</p>");
        }
        self.spaces.iter().for_each(|space| space.write_html(&mut page));
        page.push_str(&format!("<p>Transaction conflicts: {}</p></main>", self.conflicts));
        page
    }
}

impl SpaceHeat {
    fn new(table: String, index: Option<String>, capacity: &Capacity, now: Time) -> SpaceHeat {
        let partitions = capacity.partitions.iter();
        let keys = capacity.keys.heaviest(KEYS_MAX).into_iter();
        SpaceHeat {
            table,
            index,
            splits: capacity.partitions.splits(),
            partitions: partitions
                .map(|(start, one)| PartitionHeat::new(start, one, now))
                .collect(),
            keys: keys
                .map(|(key, units)| KeyHeat { key: String::from_utf8_lossy(key).into(), units })
                .collect(),
        }
    }

    fn write_json(&self, w: &mut Writer) {
        w.object(|w| {
            w.name("table").text(&self.table);
            if let Some(index) = &self.index {
                w.name("index").text(index);
            }
            w.name("splits").number(self.splits);
            w.name("partitions").list(|w| {
                self.partitions.iter().for_each(|partition| partition.write_json(w));
            });
            w.name("keys").list(|w| {
                for KeyHeat { key, units } in &self.keys {
                    w.object(|w| {
                        w.name("key").text(key);
                        w.name("units").number(units);
                    });
                }
            });
        });
    }

    fn write_html(&self, page: &mut String) {
        let name = match &self.index {
            None => self.table.clone(),
            Some(index) => format!("{} › {index}", self.table),
        };
        let name = escaped(&name);
        let splits = self.splits;
        page.push_str(&format!(
            "<h2>{name}</h2><table><caption>Partitions ({splits} splits)</caption><thead><tr>\
             <th>starts at<th class=n>write units/s<th class=n>busiest<th class=n>read units/s\
             <th class=n>busiest<th class=n>throttled<th></thead><tbody>"
        ));
        self.partitions.iter().for_each(|partition| partition.write_html(page));
        page.push_str(
            "</tbody></table><table><caption>Heaviest keys</caption><thead><tr><th>partition key\
             <th class=n>units</thead><tbody>",
        );
        for KeyHeat { key, units } in &self.keys {
            let key = escaped(key);
            page.push_str(&format!("<tr><td><code>{key}</code><td class=n>{units:.0}"));
        }
        page.push_str("</tbody></table>");
    }
}

impl PartitionHeat {
    fn new(start: &Position, partition: &Partition, now: Time) -> PartitionHeat {
        let rates = |meter: &Meter| Rates {
            total: meter.total(),
            per_second: meter.per_second(now),
            busiest: meter.busiest(),
        };
        let usage = &partition.usage;
        PartitionHeat {
            start: start.to_string(),
            read: rates(&usage.read),
            write: rates(&usage.write),
            throttled: usage.throttled,
            unsplit: partition.unsplit.map(Unsplit::text),
        }
    }

    fn write_json(&self, w: &mut Writer) {
        w.object(|w| {
            w.name("start").text(&self.start);
            for (name, rates) in [("read", self.read), ("write", self.write)] {
                w.name(name).object(|w| {
                    w.name("units").number(rates.total);
                    w.name("perSecond").number(rates.per_second);
                    w.name("busiestSecond").number(rates.busiest);
                });
            }
            w.name("throttled").number(self.throttled);
            if let Some(why) = self.unsplit {
                w.name("notSplit").text(why);
            }
        });
    }

    fn write_html(&self, page: &mut String) {
        let Rates { per_second: writes, busiest: most_writes, .. } = self.write;
        let Rates { per_second: reads, busiest: most_reads, .. } = self.read;
        let (start, throttled) = (escaped(&self.start), self.throttled);
        let class = if throttled > 0 { " class=hot" } else { "" };
        let note = self.unsplit.map_or_else(String::new, |why| format!("not split: {why}"));
        page.push_str(&format!(
            "<tr{class}><td><code>{start}</code><td class=n>{writes:.1}<td class=n>{most_writes:.0}\
             <td class=n>{reads:.1}<td class=n>{most_reads:.0}<td class=n>{throttled}<td>{note}"
        ));
    }
}

impl Unsplit {
    /// Returns the reason in words.
    fn text(self) -> &'static str {
        match self {
            Unsplit::OneKey => "all requests are for one key",
            Unsplit::GrowingKey => "the sort key only grows, so all requests are at its end",
            Unsplit::LocalIndex => "a local index keeps items with one partition key together",
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

const PAGE_HEAD: &str = "<!doctype html><html lang=en><meta charset=utf-8>\
<meta name=viewport content='width=device-width'><meta http-equiv=refresh content=2>\
<title>Heat</title><style>\
body{font:15px/1.5 system-ui,sans-serif;margin:0;color:#1d2430;background:#fff}\
main{max-width:60rem;margin:2rem auto;padding:0 1rem;overflow-x:auto}\
table{border-collapse:collapse;margin:0 0 1.5rem}caption{text-align:left;font-weight:600}\
th,td{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid #dde2ea}\
th{font-weight:500;color:#5a6577}.n{text-align:right;font-variant-numeric:tabular-nums}\
code{font-size:13px;overflow-wrap:anywhere}.hot{background:#fdeceb}\
@media(prefers-color-scheme:dark){body{color:#e3e7ee;background:#161a20}\
th,td{border-color:#333b47}th{color:#9aa5b5}.hot{background:#4a1f1f}}\
</style><main><h1>Heat</h1><p>Capacity units by partition, per second over the last minute and in \
the busiest second. A partition has 1,000 write units and 3,000 read units a second. \
<a href='/heat.json'>JSON</a></p>";
