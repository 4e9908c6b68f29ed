//! `keyloom token`: access tokens of a server.

use clap::{Arg, ArgMatches};
use keyloom::SystemEntropy;
use keyloom_app::operations::{AdoptTokens, CreateToken, ListTokens, RevokeToken, call};
use keyloom_app::source;
use keyloom_server::{AdminToken, Role};

use crate::command::{Command, json_argument, time, write_stdout};

pub(crate) const COMMAND: Command = Command { name: "token", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom token create --data ./data --role writer --name shop
      Create a token that can read and write. It is printed once; only its hash is stored

  keyloom token create --data ./data --role reader --tenant acme --expires 2030-01-01T00:00:00Z
      Create a token that can read the data of the tenant acme, until 2030

  keyloom token create --data ./data --role user --subject ann --roles support,billing
      Create a token of the user ann, who may do what the access rules of the model allow

  keyloom token generate
      Print a new token that is stored nowhere, for KEYLOOM_ADMIN_TOKEN of `keyloom serve`

  keyloom token list --data ./data
  keyloom token revoke --data ./data ID

  keyloom token adopt --dynamodb shop
      Copy the tokens that version 0.1 shared among all databases of an account

A server that has the directory open applies changes at once. Admins can also use its API:
  curl -H 'Authorization: Bearer ...' URL/tokens --json '{\"name\": \"shop\", \"role\": \"writer\"}'";

fn describe(command: clap::Command) -> clap::Command {
    let text =
        |name: &'static str, value: &'static str| Arg::new(name).long(name).value_name(value);
    let role = text("role", "ROLE").required(true).value_parser(Role::ALL.map(Role::name));
    let create = clap::Command::new("create")
        .about("Create a token and print it once")
        .arg(role.help("What the token allows; admins can also manage tokens, and users are limited\nby the access rules of the model"))
        .arg(text("subject", "NAME").help("User that the token is of, for --role user"))
        .arg(
            text("roles", "LIST")
                .value_delimiter(',')
                .help("Roles of the user, separated by commas, for --role user"),
        )
        .arg(text("tenant", "NAME").help("Limit the token to one tenant [default: all tenants]"))
        .arg(text("name", "TEXT").default_value("").help("Description, shown by `token list`"))
        .arg(
            text("expires", "TIME")
                .help("Expiry time, such as 2030-01-01T00:00:00Z [default: never]"),
        )
        .arg(json_argument());
    let generate = clap::Command::new("generate")
        .about("Print a new token that is stored nowhere, for the first start of a server");
    let list = clap::Command::new("list").about("List tokens");
    let revoke = clap::Command::new("revoke").about("Revoke a token");
    let adopt = clap::Command::new("adopt")
        .about("Copy the tokens that version 0.1 kept in DynamoDB for all databases of an account");
    let id =
        Arg::new("id").value_name("ID").required(true).help("Token id, as shown by `token list`");
    command
        .about("Create, generate, list, revoke and adopt access tokens")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(source::arguments(create))
        .subcommand(generate)
        .subcommand(source::arguments(list.arg(json_argument())))
        .subcommand(source::arguments(revoke.arg(id)))
        .subcommand(source::arguments(adopt))
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let (verb, arguments) = arguments.subcommand().ok_or("give a subcommand.")?;
    if verb == "generate" {
        return generate();
    }
    match verb {
        "create" => create(arguments),
        "list" => list(arguments),
        "adopt" => adopt(arguments),
        _ => revoke(arguments),
    }
}

fn generate() -> Result<(), String> {
    let text = AdminToken::generate(&SystemEntropy);
    let text =
        text.map_err(|error| format!("cannot get random bytes from the system: {error}."))?;
    write_stdout(&format!("{text}\n"))
}

fn create(arguments: &ArgMatches) -> Result<(), String> {
    let text = |name: &str| arguments.get_one::<String>(name).cloned();
    let expires = text("expires").map(|text| {
        time(&text)
            .ok_or_else(|| format!("invalid time `{text}`: write it as `2030-01-01T00:00:00Z`."))
    });
    let create = CreateToken {
        role: text("role").ok_or("give --role.")?,
        subject: text("subject"),
        roles: arguments.get_many::<String>("roles").unwrap_or_default().cloned().collect(),
        tenant: text("tenant"),
        name: text("name").unwrap_or_default(),
        expires: expires.transpose()?.map(|time| time.0),
    };
    // An invalid request fails before a directory is created.
    create.checked()?;
    let token = call(arguments, create, None, &mut |_| Ok(()))?;
    if arguments.get_flag("json") {
        return write_stdout(&format!("{token}\n"));
    }
    let shown = |name: &str| token[name].as_str().unwrap_or_default();
    let (text, id) = (shown("token"), shown("id"));
    write_stdout(&format!("{text}\nStore it now: it is not shown again. Token id: {id}.\n"))
}

fn revoke(arguments: &ArgMatches) -> Result<(), String> {
    let id = arguments.get_one::<String>("id").cloned().unwrap_or_default();
    match call(arguments, RevokeToken { id: id.clone() }, None, &mut |_| Ok(()))? {
        true => write_stdout("Revoked.\n"),
        false => Err(format!("no token with the id `{id}`: run `keyloom token list`.")),
    }
}

fn adopt(arguments: &ArgMatches) -> Result<(), String> {
    let count = call(arguments, AdoptTokens {}, None, &mut |_| Ok(()))?;
    write_stdout(&format!(
        "Copied {count} tokens. Revoke those that are not meant for this database: \
         see `keyloom token list`.\n"
    ))
}

fn list(arguments: &ArgMatches) -> Result<(), String> {
    let all = call(arguments, ListTokens {}, None, &mut |_| Ok(()))?;
    if arguments.get_flag("json") {
        return write_stdout(&all.iter().map(|token| format!("{token}\n")).collect::<String>());
    }
    let line = |token: &serde_json::Value| {
        let [id, role, created, name] =
            ["id", "role", "created", "name"].map(|name| token[name].as_str().unwrap_or_default());
        let tenant = token["tenant"].as_str().unwrap_or("(all)");
        let expires = token["expires"].as_str().unwrap_or("never");
        format!("{id}  {role:<6}  {tenant:<16}  {created:<24}  {expires:<24}  {name}\n")
    };
    let head = format!(
        "{:<16}  {:<6}  {:<16}  {:<24}  {:<24}  {}\n",
        "id", "role", "tenant", "created", "expires", "name"
    );
    write_stdout(&(head + &all.iter().map(line).collect::<String>()))
}
