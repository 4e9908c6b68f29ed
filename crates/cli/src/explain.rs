//! `keyloom explain`: the plan of a request, what it reads or writes, and its cost.

use clap::{Arg, ArgMatches};
use keyloom::{Item, Value, json_to_item};
use keyloom_app::operations::{Explain, ExplainTarget, call};
use keyloom_app::source;

use crate::command::{Command, json_argument, write_stdout};
use crate::model_file::ModelFile;

pub(crate) const COMMAND: Command = Command { name: "explain", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom explain apps/tasks/model.toml --data ./tasks-data '/tasks?tag=priority:high&tag=severity:low'
      Print the plan with the size of each list, what was read, and the cost on DynamoDB

  keyloom explain apps/oncall/model.toml --data ./data --tenant acme /contacts --json
      Explain a request for one tenant, as JSON

  keyloom explain apps/tasks/model.toml --data ./tasks-data \\
      --change '{\"create\": \"task\", \"document\": {\"name\": \"cook\", \"tags\": {\"priority\": \"high\"}}}'
      Print every row that the write would touch and its cost; nothing is written";

fn describe(command: clap::Command) -> clap::Command {
    let request = Arg::new("request").value_name("PATH").required_unless_present("change");
    let change = Arg::new("change").long("change").value_name("JSON").conflicts_with("request");
    let tenant = Arg::new("tenant").long("tenant").value_name("TENANT");
    let command = command
        .about("Show the plan, reads and cost of a request")
        .arg(ModelFile::argument())
        .arg(request.help("Path and query of a GET request"))
        .arg(change.help("Explain a write instead: one operation as in POST /transaction"))
        .arg(tenant.help("Tenant whose data to use"))
        .arg(json_argument())
        .after_help(EXAMPLES);
    source::arguments(command)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let model = ModelFile::from_arguments(arguments)?.text;
    let text = |name| arguments.get_one::<String>(name).cloned();
    let target = match (text("request"), text("change")) {
        (_, Some(change)) => ExplainTarget::Change(change),
        (path, None) => ExplainTarget::Path(path.unwrap_or_default()),
    };
    let explain = Explain { model, target, tenant: text("tenant") };
    let explained = call(arguments, explain, None, &mut |_| Ok(()))?;
    if arguments.get_flag("json") {
        return write_stdout(&(explained + "\n"));
    }
    let explained = json_to_item(explained.as_bytes()).map_err(|error| error.to_string())?;
    match explained.get("explain") {
        Some(Value::M(writes)) => write_stdout(&format_writes(writes)),
        Some(_) | None => write_stdout(&format_reads(&explained)),
    }
}

/// The rows that a change would write, as a table.
fn format_writes(writes: &Item) -> String {
    let mut text = String::new();
    for row in objects(writes, "rows") {
        let [what, action, bytes] = ["what", "action", "bytes"].map(|name| get(row, name));
        let [index_rows, units] = ["index_rows", "write_units"].map(|name| get(row, name));
        text.push_str(&format!(
            "  {action:<7}{what:<8}{bytes:>9} bytes {index_rows:>3} index rows {units:>4} units\n"
        ));
    }
    let cost = object(writes, "dynamodb");
    let dollars = get(&cost, "dollars").parse::<f64>().unwrap_or_default() * 1e6;
    let (units, sets) = (get(&cost, "write_units"), get(writes, "sets"));
    text.push_str(&format!(
        "Posting lists changed: {sets}; on DynamoDB each is a row.\n\
         On DynamoDB: {units} write units, ${dollars:.2} per million writes.\n"
    ));
    text
}

/// The plan of a request, what it has read, and the cost.
fn format_reads(explained: &Item) -> String {
    let mut text = String::new();
    for list in objects(explained, "lists") {
        draw(&object(list, "plan"), ("", ""), &mut text);
        let bound = object(list, "bound");
        let (rows, bytes) = (get(&bound, "rows"), get(&bound, "bytes"));
        text.push_str(&format!("\nLimit: {rows} rows or {bytes} bytes.\n"));
        if list.get("one_by_one").is_some() {
            text.push_str(&one_by_one(&object(list, "one_by_one")));
        }
        text.push_str(&considered(list));
    }
    text.push_str(&actual(explained));
    for read in objects(explained, "requests") {
        let index = read.get("index").and_then(Value::as_s);
        let index = index.map(|index| format!(" of {index}")).unwrap_or_default();
        let call = format!("{}{index}", get(read, "call"));
        let [rows, bytes, units] = ["rows", "bytes", "read_units"].map(|name| get(read, name));
        text.push_str(&format!("  {call:<28}{rows:>9} rows {bytes:>11} bytes {units:>8} units\n"));
    }
    let cost = object(explained, "dynamodb");
    let dollars = get(&cost, "dollars").parse::<f64>().unwrap_or_default() * 1e6;
    let units = get(&cost, "read_units");
    text.push_str(&format!(
        "On DynamoDB: {units} read units, ${dollars:.2} per million requests.\n"
    ));
    text
}

/// The other ways to find the page, with what they are likely to read.
fn considered(list: &Item) -> String {
    let ways = objects(list, "considered").into_iter();
    let others = ways.filter(|way| way.get("is_chosen") != Some(&Value::Bool(true)));
    let line = |way: &Item| format!("  {:>9} rows  {}\n", get(way, "rows"), get(way, "step"));
    let lines: String = others.map(line).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("Not chosen, if matches are spread evenly:\n{lines}")
    }
}

/// The reads of an intersection that takes one id at a time, for comparison.
fn one_by_one(reads: &Item) -> String {
    let range = |name: &str| {
        let reads = object(reads, name);
        format!("{} to {}", get(&reads, "best"), get(&reads, "worst"))
    };
    let (tags, planned, entities) = (range("tags"), range("planned"), get(reads, "entities"));
    format!(
        "One id at a time: {tags} rows of all tags' lists, or {planned} of the lists above, + \
         {entities} entities.\n"
    )
}

/// What was read, in the same units as [`one_by_one`].
fn actual(explained: &Item) -> String {
    let rows_of = |calls: &[&str]| -> u64 {
        let reads = objects(explained, "requests").into_iter();
        let reads = reads.filter(|read| calls.contains(&get(read, "call").as_str()));
        reads.filter_map(|read| get(read, "rows").parse::<u64>().ok()).sum()
    };
    let (lists, entities) = (rows_of(&["query", "scan"]), rows_of(&["get", "batch get"]));
    let sets = match rows_of(&["set sizes", "read set", "list sets"]) {
        0 => String::new(),
        sets => format!(" and {sets} of sets"),
    };
    let bytes = get(explained, "bytes");
    format!("Actual: {lists} rows of lists{sets} + {entities} entities, {bytes} bytes.\n")
}

fn draw(plan: &Item, (first, rest): (&str, &str), drawn: &mut String) {
    let size = plan.get("members").map(|members| format!(" ({members})")).unwrap_or_default();
    drawn.push_str(&format!("{first}{}{size}\n", get(plan, "step")));
    let parts = objects(plan, "parts");
    let last = parts.len().saturating_sub(1);
    for (index, part) in parts.iter().enumerate() {
        let (branch, below) = if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        draw(part, (&format!("{rest}{branch}"), &format!("{rest}{below}")), drawn);
    }
}

/// A string or number as text; empty if absent.
fn get(item: &Item, name: &str) -> String {
    match item.get(name) {
        Some(Value::S(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

fn object(item: &Item, name: &str) -> Item {
    match item.get(name) {
        Some(Value::M(members)) => members.clone(),
        Some(_) | None => Item::new(),
    }
}

fn objects<'i>(item: &'i Item, name: &str) -> Vec<&'i Item> {
    let Some(Value::L(elements)) = item.get(name) else { return vec![] };
    let object = |element: &'i Value| match element {
        Value::M(members) => Some(members),
        _ => None,
    };
    elements.iter().filter_map(object).collect()
}
