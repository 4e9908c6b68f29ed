//! A plan for a terminal: tables at most 100 columns wide.

use keyloom_app::plan::{Ceiling, CostOf, DYNAMODB_PRICES, HotKey, Limit, Plan, SpaceHeat};

use super::Planned;
use super::difference::difference;
use super::number::{dollars, number, percent};
use crate::chart::grid::{Align, WIDTH, grid, wrap};

pub(super) fn draw(planned: &Planned) -> String {
    let Planned { title, options, report, .. } = planned;
    let plan = &report.declared;
    let total = plan.total;
    let mut text = format!(
        "{title}: {} write units and {} read units a second, {} a month\n",
        number(total.write_units),
        number(total.read_units),
        dollars(total.dollars_a_month)
    );
    text += &paragraph(&format!(
        "DynamoDB on demand in {} (prices since {}), without storage, streams and transfer.",
        DYNAMODB_PRICES.region, DYNAMODB_PRICES.since
    ));
    text += &format!("\nCosts\n{}", costs(plan));
    text += "\nCeilings\n";
    text += &paragraph(&format!(
        "The rate of writes at which the hottest key of each query reaches its limit: 1,000 write units \
         a second of a partition, or one transaction of {} ms after the other in a row.",
        number(options.transaction_ms)
    ));
    text += &ceilings(&plan.ceilings, options.headroom);
    text += &proposals(planned);
    for space in &plan.spaces {
        text += &format!("\n{}\n{}", heading(space), keys(&space.keys));
    }
    if !plan.hot_reads.is_empty() {
        text += "\nReads close to what a partition takes (3,000 read units a second)\n";
        text += &keys(&plan.hot_reads);
    }
    text
}

fn costs(plan: &Plan) -> String {
    let row = |cost: &CostOf| {
        vec![
            cost.work.clone(),
            cost.per_second.map_or_else(|| "–".to_owned(), number),
            number(cost.costs.write_units),
            number(cost.costs.read_units),
            dollars(cost.costs.dollars_a_month),
        ]
    };
    let head = [
        ("work", Align::Left),
        ("a second", Align::Right),
        ("write units/s", Align::Right),
        ("read units/s", Align::Right),
        ("a month", Align::Right),
    ];
    grid(&head, &plan.costs.iter().map(row).collect::<Vec<_>>())
}

fn ceilings(ceilings: &[Ceiling], headroom: f64) -> String {
    let row = |ceiling: &Ceiling| {
        let bound = if ceiling.writes.is_at_least { "≥ " } else { "" };
        let writer = ceiling.writer.as_deref().unwrap_or("all");
        vec![
            ceiling.part.clone(),
            format!("{} {writer}/s", number(ceiling.declared)),
            format!("{bound}{} {writer}/s", number(ceiling.writes.per_second)),
            verdict(ceiling, headroom).to_owned(),
            reason(ceiling),
        ]
    };
    let head = [
        ("query", Align::Left),
        ("declared", Align::Right),
        ("ceiling", Align::Right),
        ("", Align::Left),
        ("limited by", Align::Left),
    ];
    grid(&head, &ceilings.iter().map(row).collect::<Vec<_>>())
}

/// What to think of a ceiling.
pub(super) fn verdict(ceiling: &Ceiling, headroom: f64) -> &'static str {
    match ceiling.used {
        _ if ceiling.writes.is_at_least => "",
        used if used > 1.0 => "too low",
        used if used > headroom => "tight",
        _ => "",
    }
}

/// What limits something, in words.
pub(super) fn reason(ceiling: &Ceiling) -> String {
    if ceiling.writes.is_at_least {
        return "no hot key in the sample".to_owned();
    }
    let what = match ceiling.limit {
        Limit::Partition => format!("partition at {} units/s", number(ceiling.rate)),
        Limit::Row => format!("row at {} transactions/s", number(ceiling.rate)),
    };
    let shards =
        if ceiling.shards > 1 { format!(", {} shards", ceiling.shards) } else { String::new() };
    format!("{what} ({}{shards})", ceiling.key)
}

fn proposals(planned: &Planned) -> String {
    let Planned { model, options, report, .. } = planned;
    let used = percent(options.headroom);
    let is_short = |plan: &Plan| {
        let known = plan.ceilings.iter().filter(|ceiling| !ceiling.writes.is_at_least);
        known.filter(|ceiling| ceiling.used > options.headroom).cloned().collect::<Vec<_>>()
    };
    if report.proposals.is_empty() {
        return match is_short(&report.declared).is_empty() {
            true => format!(
                "\nEvery ceiling is high enough: the workload uses at most {used} of each.\n"
            ),
            false => "\nNo number of shards raises the ceilings that are too low.\n".to_owned(),
        };
    }
    let mut text = "\nProposed shards\n".to_owned();
    match &report.proposed_model {
        Some(after) => text += &difference(model, after),
        None => {
            for one in &report.proposals {
                text += &format!("    [{}]\n  + {} = {}\n", one.table, one.key, one.proposed);
            }
        }
    }
    let Some(proposed) = &report.proposed else {
        let note = "These shards were not tried: declare them, and plan again.";
        return text + &paragraph(note);
    };
    let (total, left) = (proposed.total, is_short(proposed));
    text += &paragraph(&match left.is_empty() {
        true => format!(
            "Tried: with these shards, the workload uses at most {used} of every limit, and costs {} a month.",
            dollars(total.dollars_a_month)
        ),
        false => format!(
            "Tried: with these shards, the workload costs {} a month, and these ceilings are still low:",
            dollars(total.dollars_a_month)
        ),
    });
    if !left.is_empty() {
        text += &ceilings(&left, options.headroom);
    }
    text
}

fn heading(space: &SpaceHeat) -> String {
    let name = space.index.as_ref().map_or("Table".to_owned(), |index| format!("Index {index}"));
    let noun = if space.partitions == 1 { "partition" } else { "partitions" };
    format!(
        "{name}: {} write units and {} read units a second, at least {} {noun}",
        number(space.write_units),
        number(space.read_units),
        space.partitions
    )
}

fn keys(keys: &[HotKey]) -> String {
    if keys.is_empty() {
        return "No hot key: everything is spread.\n".to_owned();
    }
    let row = |key: &HotKey| {
        vec![
            key.part.clone(),
            key.key.clone(),
            key.shards.to_string(),
            number(key.write_units),
            number(key.read_units),
        ]
    };
    let head = [
        ("part", Align::Left),
        ("partition key", Align::Left),
        ("shards", Align::Right),
        ("write units/s", Align::Right),
        ("read units/s", Align::Right),
    ];
    grid(&head, &keys.iter().map(row).collect::<Vec<_>>())
}

fn paragraph(text: &str) -> String {
    wrap(text, WIDTH).join("\n") + "\n"
}
