//! `keyloom explain`: how a request is answered, and what it reads.

use clap::{Arg, ArgMatches};
use keyloom::{Item, Value, json_to_item};
use keyloom_app::operations::{Explain, ExplainTarget, call};
use keyloom_app::source;

use crate::command::{Command, json_argument, say};
use crate::model_file::ModelFile;

pub(crate) const COMMAND: Command = Command { name: "explain", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom explain apps/tasks/model.toml --data ./tasks-data '/tasks?tag=priority:high&tag=severity:low'
      Print the combined lists with their sizes, what was read, and its cost on DynamoDB

  keyloom explain apps/oncall/model.toml --data ./data --tenant acme /contacts --json
      Explain a request of one tenant, as JSON

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
    let model = ModelFile::named(arguments)?.text;
    let text = |name| arguments.get_one::<String>(name).cloned();
    let target = match (text("request"), text("change")) {
        (_, Some(change)) => ExplainTarget::Change(change),
        (path, None) => ExplainTarget::Path(path.unwrap_or_default()),
    };
    let explain = Explain { model, target, tenant: text("tenant") };
    let explained = call(arguments, explain, None, &mut |_| Ok(()))?;
    if arguments.get_flag("json") {
        return say(&(explained + "\n"));
    }
    let explained = json_to_item(explained.as_bytes()).map_err(|error| error.to_string())?;
    match explained.get("explain") {
        Some(Value::M(writes)) => say(&told_writes(writes)),
        Some(_) | None => say(&told(&explained)),
    }
}

/// What a change would write, for a person.
fn told_writes(writes: &Item) -> String {
    let mut told = String::new();
    for row in objects(writes, "rows") {
        let [what, action, bytes] = ["what", "action", "bytes"].map(|name| text(row, name));
        let [index_rows, units] = ["index_rows", "write_units"].map(|name| text(row, name));
        told.push_str(&format!(
            "  {action:<7}{what:<8}{bytes:>9} bytes {index_rows:>3} rows of indexes {units:>4} units\n"
        ));
    }
    let cost = object(writes, "dynamodb");
    let dollars = text(&cost, "dollars").parse::<f64>().unwrap_or_default() * 1e6;
    let (units, sets) = (text(&cost, "write_units"), text(writes, "sets"));
    told.push_str(&format!(
        "Sets that it joins or leaves: {sets}. On DynamoDB, where each is a row: {units} write units, \
         ${dollars:.2} for a million such changes.\n"
    ));
    told
}

/// For a person.
fn told(explained: &Item) -> String {
    let mut told = String::new();
    for list in objects(explained, "lists") {
        draw(&object(list, "plan"), ("", ""), &mut told);
        let bound = object(list, "bound");
        let (rows, bytes) = (text(&bound, "rows"), text(&bound, "bytes"));
        told.push_str(&format!("\nAt most {rows} rows or {bytes} bytes.\n"));
        if list.get("one_by_one").is_some() {
            told.push_str(&one_by_one(&object(list, "one_by_one")));
        }
    }
    told.push_str(&read_now(explained));
    for read in objects(explained, "requests") {
        let index = read.get("index").and_then(Value::as_s);
        let index = index.map(|index| format!(" of {index}")).unwrap_or_default();
        let call = format!("{}{index}", text(read, "call"));
        let [rows, bytes, units] = ["rows", "bytes", "read_units"].map(|name| text(read, name));
        told.push_str(&format!("  {call:<28}{rows:>9} rows {bytes:>11} bytes {units:>8} units\n"));
    }
    let cost = object(explained, "dynamodb");
    let dollars = text(&cost, "dollars").parse::<f64>().unwrap_or_default() * 1e6;
    let units = text(&cost, "read_units");
    told.push_str(&format!(
        "On DynamoDB: {units} read units, ${dollars:.2} for a million such requests.\n"
    ));
    told
}

fn one_by_one(reads: &Item) -> String {
    let of = |name: &str| {
        let reads = object(reads, name);
        format!("{} to {}", text(&reads, "best"), text(&reads, "worst"))
    };
    let (tags, planned, entities) = (of("tags"), of("planned"), text(reads, "entities"));
    format!(
        "One id at a time: {tags} rows of the lists of all tags, or {planned} of the lists above, + \
         {entities} entities.\n"
    )
}

/// What was really read, in the same units as what one id at a time would read.
fn read_now(explained: &Item) -> String {
    let rows_of = |calls: &[&str]| -> u64 {
        let reads = objects(explained, "requests").into_iter();
        let reads = reads.filter(|read| calls.contains(&text(read, "call").as_str()));
        reads.filter_map(|read| text(read, "rows").parse::<u64>().ok()).sum()
    };
    let (lists, entities) = (rows_of(&["query", "scan"]), rows_of(&["get", "batch get"]));
    let sets = match rows_of(&["set sizes", "read set", "list sets"]) {
        0 => String::new(),
        sets => format!(" and {sets} of sets"),
    };
    let bytes = text(explained, "bytes");
    format!("Read now: {lists} rows of lists{sets} + {entities} entities, {bytes} bytes.\n")
}

fn draw(plan: &Item, (first, rest): (&str, &str), drawn: &mut String) {
    let size = plan.get("members").map(|members| format!(" ({members})")).unwrap_or_default();
    drawn.push_str(&format!("{first}{}{size}\n", text(plan, "step")));
    let parts = objects(plan, "parts");
    let last = parts.len().saturating_sub(1);
    for (index, part) in parts.iter().enumerate() {
        let (branch, below) = if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        draw(part, (&format!("{rest}{branch}"), &format!("{rest}{below}")), drawn);
    }
}

/// A text or a number.
fn text(of: &Item, name: &str) -> String {
    match of.get(name) {
        Some(Value::S(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

fn object(of: &Item, name: &str) -> Item {
    match of.get(name) {
        Some(Value::M(members)) => members.clone(),
        Some(_) | None => Item::new(),
    }
}

fn objects<'i>(of: &'i Item, name: &str) -> Vec<&'i Item> {
    let Some(Value::L(elements)) = of.get(name) else { return vec![] };
    let object = |element: &'i Value| match element {
        Value::M(members) => Some(members),
        _ => None,
    };
    elements.iter().filter_map(object).collect()
}
