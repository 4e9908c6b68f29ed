//! `keyloom explain`: how a request is answered, and what it reads.

use clap::{Arg, ArgMatches};
use keyloom_server::{Rest, RestOptions};
use serde_json::Value as Json;

use crate::command::{Command, json_argument, say};
use crate::model_file::{ModelFile, block_on};
use crate::place;

pub(crate) const COMMAND: Command = Command { name: "explain", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom explain apps/tasks/model.toml --data ./tasks-data '/tasks?tag=priority:high&tag=severity:low'
      The lists that are combined with their sizes, what is really read, and what that costs on DynamoDB.

  keyloom explain apps/oncall/model.toml --data ./data --tenant acme /contacts --json
      The same of a tenant's data, for programs.";

fn describe(command: clap::Command) -> clap::Command {
    let request = Arg::new("request").value_name("PATH").required(true);
    let tenant = Arg::new("tenant").long("tenant").value_name("TENANT");
    let command = command
        .about("Tell how a request is answered, and what it costs")
        .arg(ModelFile::argument())
        .arg(request.help("Path and parameters of a GET request, as over HTTP"))
        .arg(tenant.help("Whose data it is about"))
        .arg(json_argument())
        .after_help(EXAMPLES);
    place::arguments(command)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let file = ModelFile::named(arguments)?;
    let text = |name| arguments.get_one::<String>(name).map(String::as_str);
    let explained = block_on(async {
        let place = place::open(arguments).await?;
        let tokens = place.tokens().await?;
        let db = place.database(&file.text).await?;
        let rest = Rest::new(db, tokens, vec![], RestOptions::default())?;
        rest.explain(text("request").unwrap_or_default(), text("tenant")).await
    })?;
    if arguments.get_flag("json") {
        return say(&(explained + "\n"));
    }
    let explained: Json = serde_json::from_str(&explained).map_err(|error| error.to_string())?;
    say(&told(&explained))
}

/// For a person.
fn told(explained: &Json) -> String {
    let mut text = String::new();
    for list in members(&explained["lists"]) {
        draw(&list["plan"], ("", ""), &mut text);
        let bound = &list["bound"];
        text.push_str(&format!("\nAt most {} rows or {} bytes.\n", bound["rows"], bound["bytes"]));
        if let Some(reads) = list.get("one_by_one") {
            text.push_str(&one_by_one(reads));
        }
    }
    text.push_str(&format!("\nRead: {} rows, {} bytes.\n", explained["rows"], explained["bytes"]));
    for read in members(&explained["requests"]) {
        let index = read["index"].as_str().map(|index| format!(" of {index}")).unwrap_or_default();
        let call = read["call"].as_str().unwrap_or_default();
        let line = format!(
            "  {:<28}{:>9} rows {:>11} bytes {:>8} units\n",
            format!("{call}{index}"),
            read["rows"],
            read["bytes"],
            read["read_units"]
        );
        text.push_str(&line);
    }
    let cost = &explained["dynamodb"];
    let dollars = cost["dollars"].as_f64().unwrap_or_default() * 1e6;
    text.push_str(&format!(
        "On DynamoDB: {} read units, ${dollars:.2} for a million such requests.\n",
        cost["read_units"]
    ));
    text
}

fn one_by_one(reads: &Json) -> String {
    let of = |reads: &Json| format!("{} to {}", reads["best"], reads["worst"]);
    format!(
        "One id after the other would read {} rows of lists, {} of those above, and {} entities.\n",
        of(&reads["tags"]),
        of(&reads["planned"]),
        reads["entities"]
    )
}

fn draw(plan: &Json, (first, rest): (&str, &str), text: &mut String) {
    let size = plan.get("members").map(|members| format!(" ({members})")).unwrap_or_default();
    text.push_str(&format!("{first}{}{size}\n", plan["step"].as_str().unwrap_or_default()));
    let parts = members(&plan["parts"]);
    let last = parts.len().saturating_sub(1);
    for (index, part) in parts.iter().enumerate() {
        let (branch, below) = if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        draw(part, (&format!("{rest}{branch}"), &format!("{rest}{below}")), text);
    }
}

fn members(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}
