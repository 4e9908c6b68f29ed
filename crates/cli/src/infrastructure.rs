//! `keyloom infrastructure`: what a deployment on AWS needs, from the specification that the library
//! creates tables with.

mod cloudformation;
mod policy;

use clap::{Arg, ArgAction, ArgMatches, builder::PossibleValue};
use keyloom::Db;
use keyloom_server::Tokens;
use keyloom_store::TableSpec;

use crate::command::{Command, write_stdout};
use crate::model_file::ModelFile;

pub(crate) const COMMAND: Command = Command { name: "infrastructure", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom infrastructure apps/kitchen/model.toml --dynamodb kitchen > kitchen.json
      Print a CloudFormation template of the tables, with stream, time to live, point-in-time
      recovery and deletion protection. The capacity mode is a parameter of the stack

  aws cloudformation deploy --stack-name kitchen --template-file kitchen.json

  keyloom infrastructure apps/kitchen/model.toml --dynamodb kitchen --format iam
      Print the IAM policy of a server whose tables exist

  keyloom infrastructure apps/kitchen/model.toml --dynamodb kitchen --format iam --setup
      Also allow the server to create the tables, and to add the indexes of a new model";

/// The tables of a database.
pub(crate) struct Tables {
    /// Everything but tokens.
    pub(crate) data: TableSpec,
    pub(crate) tokens: TableSpec,
}

fn describe(command: clap::Command) -> clap::Command {
    let formats = [
        PossibleValue::new("cloudformation").help("Template of the tables"),
        PossibleValue::new("iam").help("Policy with the least privileges of a server"),
    ];
    command
        .about("Print a CloudFormation template or an IAM policy for a DynamoDB table")
        .arg(ModelFile::argument())
        .arg(
            Arg::new("dynamodb")
                .long("dynamodb")
                .value_name("TABLE")
                .required(true)
                .help("Name of the DynamoDB table"),
        )
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .value_parser(formats)
                .default_value("cloudformation")
                .help("What to print"),
        )
        .arg(
            Arg::new("setup")
                .long("setup")
                .action(ArgAction::SetTrue)
                .help("In the policy, allow to create tables and indexes"),
        )
        .arg(
            Arg::new("region")
                .long("region")
                .value_name("REGION")
                .default_value("*")
                .help("In the policy, region of the tables"),
        )
        .arg(
            Arg::new("account")
                .long("account")
                .value_name("ID")
                .default_value("*")
                .help("In the policy, account of the tables"),
        )
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let model = ModelFile::from_arguments(arguments)?.text;
    let text = |name: &str| arguments.get_one::<String>(name).map_or("*", String::as_str);
    let table = text("dynamodb");
    let tables = Tables {
        data: Db::table_spec(&model, table).map_err(|error| error.to_string())?,
        tokens: Tokens::table_spec(table).map_err(|error| error.to_string())?,
    };
    let document = match text("format") {
        "iam" => {
            let place = policy::Place { region: text("region"), account: text("account") };
            policy::policy(&tables, place, arguments.get_flag("setup"))
        }
        _ => cloudformation::template(&tables),
    };
    let json = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    write_stdout(&(json + "\n"))
}
