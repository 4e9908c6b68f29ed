//! `keyloom token`: who is let in to a server.

use std::path::PathBuf;

use clap::{Arg, ArgMatches};
use keyloom::{SystemEntropy, Value};
use keyloom_app::directory::Use;
use keyloom_app::place;
use keyloom_model::FieldType;
use keyloom_server::{AdminToken, Role, Token, TokenRequest, Tokens};
use keyloom_store::{Options, Time};

use crate::command::{Command, json_argument, say, time};
use crate::model_file::block_on;

pub(crate) const COMMAND: Command = Command { name: "token", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom token create --data ./data --role writer --name shop
      Create a token that can read and write. It is printed once; only its hash is stored

  keyloom token create --data ./data --role reader --tenant acme --expires 2030-01-01T00:00:00Z
      Create a token that can read the data of the tenant acme, until 2030

  keyloom token generate
      Print a new token that is stored nowhere, for KEYLOOM_ADMIN_TOKEN of `keyloom serve`

  keyloom token list --data ./data
  keyloom token revoke --data ./data ID

No other process may have the directory open. While a server runs, use its API as an admin:
  curl -H 'Authorization: Bearer ...' URL/tokens --json '{\"name\": \"shop\", \"role\": \"writer\"}'";

fn describe(command: clap::Command) -> clap::Command {
    let text =
        |name: &'static str, value: &'static str| Arg::new(name).long(name).value_name(value);
    let role = text("role", "ROLE").required(true).value_parser(Role::ALL.map(Role::name));
    let create = clap::Command::new("create")
        .about("Create a token and print it once")
        .arg(role.help("What the token allows; admins can also manage tokens"))
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
    let id =
        Arg::new("id").value_name("ID").required(true).help("Token id, as shown by `token list`");
    command
        .about("Create, generate, list and revoke access tokens")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(place::arguments(create))
        .subcommand(generate)
        .subcommand(place::arguments(list.arg(json_argument())))
        .subcommand(place::arguments(revoke.arg(id)))
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let (verb, arguments) = arguments.subcommand().ok_or("give a subcommand.")?;
    if verb == "generate" {
        return generate();
    }
    block_on(act(verb, arguments))
}

fn generate() -> Result<(), String> {
    let text = AdminToken::generate(&SystemEntropy);
    let text = text.map_err(|error| format!("the system has no random bytes: {error}."))?;
    say(&format!("{text}\n"))
}

async fn act(verb: &str, arguments: &ArgMatches) -> Result<(), String> {
    if verb == "create" {
        // What is wrong with the request is said before a directory is made.
        let request = request(arguments)?;
        let data = PathBuf::new();
        let opened = place::open_or_create(arguments, data, Options::default()).await?;
        return create(&opened.place.tokens().await?, request, arguments).await;
    }
    let used = if verb == "list" { Use::Read } else { Use::Change };
    let tokens = place::open(arguments, used).await?.tokens().await?;
    let Some(id) = arguments.try_get_one::<String>("id").ok().flatten() else {
        return list(&tokens, arguments).await;
    };
    match tokens.revoke(id).await.map_err(|error| error.to_string())? {
        true => say("Revoked.\n"),
        false => Err(format!("no token with the id `{id}`: run `keyloom token list`.")),
    }
}

fn request(arguments: &ArgMatches) -> Result<TokenRequest, String> {
    let text = |name: &str| arguments.get_one::<String>(name).cloned();
    let role = text("role").as_deref().and_then(Role::of_name).ok_or("give --role.")?;
    let expires = text("expires");
    let expires = expires.map(|text| {
        time(&text)
            .ok_or_else(|| format!("invalid time `{text}`: write it as `2030-01-01T00:00:00Z`."))
    });
    let expires = expires.transpose()?;
    let name = text("name").unwrap_or_default();
    let request = TokenRequest { role, tenant: text("tenant"), name, expires };
    request.checked().map_err(str::to_owned)
}

async fn create(
    tokens: &Tokens,
    request: TokenRequest,
    arguments: &ArgMatches,
) -> Result<(), String> {
    let made = tokens.create(request).await.map_err(|error| error.to_string())?;
    let (token, text) = made;
    if arguments.get_flag("json") {
        let mut shown = token.to_json();
        shown["token"] = text.into();
        return say(&format!("{shown}\n"));
    }
    say(&format!("{text}\nStore it now: it is not shown again. Token id: {}.\n", token.id))
}

async fn list(tokens: &Tokens, arguments: &ArgMatches) -> Result<(), String> {
    let all = tokens.list().await.map_err(|error| error.to_string())?;
    if arguments.get_flag("json") {
        let lines: String = all.iter().map(|token| format!("{}\n", token.to_json())).collect();
        return say(&lines);
    }
    let line = |token: &Token| {
        let (tenant, role) = (token.tenant.as_deref().unwrap_or("(all)"), token.role.name());
        let expires = token.expires.map_or_else(|| "never".to_owned(), shown);
        let Token { id, name, created, .. } = token;
        format!("{id}  {role:<6}  {tenant:<16}  {}  {expires:<24}  {name}\n", shown(*created))
    };
    let head = format!(
        "{:<16}  {:<6}  {:<16}  {:<24}  {:<24}  {}\n",
        "id", "role", "tenant", "created", "expires", "name"
    );
    say(&(head + &all.iter().map(line).collect::<String>()))
}

fn shown(time: Time) -> String {
    FieldType::Time.show(&Value::from(time.0)).as_s().unwrap_or_default().to_owned()
}
