//! `keyloom` finds access keys, region and endpoint of DynamoDB where AWS's own tools find them.
//!
//! The endpoint verifies signatures: a request that succeeds has used the settings, and the same settings
//! with another secret must fail.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use keyloom_dynamodb::{Keys, Remote, RemoteOptions};
use keyloom_store::{KeySchema, KeyType, Store, TableName, TableSpec};
use pollster::block_on;

use crate::process::{Folder, Served, keyloom};

const ID: &str = "AKIDOFATEST";
const SECRET: &str = "the-right-secret";
const OTHER_SECRET: &str = "another-secret";
const REGION: &str = "eu-central-1";

/// An endpoint that verifies signatures, and a home directory without settings.
struct Rig {
    served: Served,
    home: Folder,
}

/// The environment and further arguments of a run.
#[derive(Default)]
struct Settings {
    environment: Vec<(&'static str, String)>,
    arguments: Vec<String>,
}

impl Settings {
    fn env(mut self, name: &'static str, value: impl Into<String>) -> Settings {
        self.environment.push((name, value.into()));
        self
    }

    fn arguments(mut self, arguments: &[&str]) -> Settings {
        self.arguments.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }
}

impl Rig {
    /// Starts an endpoint with a table.
    fn start(name: &str) -> Rig {
        let home = Folder::new(&format!("{name}-home"));
        std::fs::create_dir(home.path(".aws")).unwrap();
        let keys = home.write("keys", profile("only", SECRET));
        let rig = Rig { served: Served::signed(&format!("{name}-data"), &keys), home };
        rig.make_table();
        let settings = rig.environment(SECRET);
        let (success, out) = rig.run(&["token", "create", "--role", "reader"], &settings);
        assert!(success, "{out}");
        rig
    }

    fn make_table(&self) {
        let keys = Some(Keys { id: ID.to_owned(), secret: SECRET.to_owned() });
        let endpoint = Some(self.served.url.clone());
        let options = RemoteOptions { endpoint, keys, ..RemoteOptions::default() };
        let remote = block_on(Remote::connect(options)).unwrap();
        let name = TableName::new("keyloom").unwrap();
        let spec = TableSpec::new(name, KeySchema::partition("id", KeyType::S));
        block_on(remote.create_table(spec)).unwrap();
    }

    /// Keys, region and endpoint in the environment.
    fn environment(&self, secret: &str) -> Settings {
        self.keys_in_environment(secret)
            .env("AWS_REGION", REGION)
            .env("AWS_ENDPOINT_URL", &self.served.url)
    }

    fn keys_in_environment(&self, secret: &str) -> Settings {
        Settings::default().env("AWS_ACCESS_KEY_ID", ID).env("AWS_SECRET_ACCESS_KEY", secret)
    }

    /// Region and endpoint in the environment.
    fn endpoint_in_environment(&self) -> Settings {
        Settings::default().env("AWS_REGION", REGION).env("AWS_ENDPOINT_URL", &self.served.url)
    }

    /// Region and endpoint as settings of a profile.
    fn endpoint(&self) -> String {
        format!("region = {REGION}\nendpoint_url = {}\n", self.served.url)
    }

    /// Runs a command on the table: whether it succeeds, and its output.
    fn run(&self, command: &[&str], settings: &Settings) -> (bool, String) {
        let mut keyloom = keyloom();
        // Tests of instance roles enable it again, with an endpoint of their own.
        keyloom.env_clear().env("AWS_EC2_METADATA_DISABLED", "true");
        keyloom.env("HOME", self.home.path("")).envs(settings.environment.clone());
        let output =
            keyloom.args(command).args(["--dynamodb", "keyloom"]).args(&settings.arguments);
        let output = output.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    }

    fn list(&self, settings: &Settings) -> (bool, String) {
        self.run(&["token", "list"], settings)
    }

    /// Asserts that the settings work with the right secret, and fail with another.
    fn check(&self, settings: impl Fn(&str) -> Settings) {
        let (success, out) = self.list(&settings(SECRET));
        assert!(success && out.contains("reader"), "{out}");
        let (success, out) = self.list(&settings(OTHER_SECRET));
        assert!(!success && out.contains("signature"), "{out}");
    }
}

/// A profile of `~/.aws/credentials`.
fn profile(name: &str, secret: &str) -> String {
    format!("[{name}]\naws_access_key_id = {ID}\naws_secret_access_key = {secret}\n")
}

/// The keys as instance and container metadata return them.
fn as_json(secret: &str) -> String {
    let keys = format!(r#""AccessKeyId":"{ID}","SecretAccessKey":"{secret}","Token":"t""#);
    format!(r#"{{"Code":"Success",{keys},"Expiration":"2099-01-01T00:00:00Z"}}"#)
}

/// Starts a server in this process. `answer` maps the head of a request to a body, or to 404.
fn answering(answer: impl Fn(&str) -> Option<String> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while reader.read_line(&mut head).unwrap_or(0) > 0 && !head.ends_with("\r\n\r\n") {}
            let head = head.to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
            let _ = reader.read_exact(&mut body);
            let (status, body) = match answer(&head) {
                Some(body) => ("200 OK", body),
                None => ("404 Not Found", String::new()),
            };
            // Instance metadata returns the lifetime of a token.
            let headers = "connection: close\r\nx-aws-ec2-metadata-token-ttl-seconds: 600";
            let length = body.len();
            let answer =
                format!("HTTP/1.1 {status}\r\n{headers}\r\ncontent-length: {length}\r\n\r\n{body}");
            let _ = reader.get_mut().write_all(answer.as_bytes());
        }
    });
    url
}

#[test]
fn settings_are_found_in_the_environment() {
    let rig = Rig::start("aws-environment");
    rig.check(|secret| rig.environment(secret));
    rig.check(|secret| rig.environment(secret).env("AWS_SESSION_TOKEN", "of a session"));
    // A custom endpoint needs no region, however it is given.
    let url = &rig.served.url;
    rig.check(|secret| rig.keys_in_environment(secret).env("AWS_ENDPOINT_URL", url));
    rig.check(|secret| rig.keys_in_environment(secret).env("AWS_ENDPOINT_URL_DYNAMODB", url));
    rig.check(|secret| rig.keys_in_environment(secret).arguments(&["--endpoint-url", url]));
}

#[test]
fn settings_are_found_in_files() {
    let rig = Rig::start("aws-files");
    let write = |config: &str, secret: &str| {
        rig.home.write(".aws/config", config);
        rig.home.write(".aws/credentials", profile("work", secret) + &profile("default", secret));
    };
    rig.check(|secret| {
        write(&format!("[default]\n{}", rig.endpoint()), secret);
        Settings::default()
    });
    let work = format!("[profile work]\n{}", rig.endpoint());
    rig.check(|secret| {
        write(&work, secret);
        Settings::default().env("AWS_PROFILE", "work")
    });
    rig.check(|secret| {
        write(&work, secret);
        Settings::default().arguments(&["--profile", "work"])
    });
    let services = "[profile work]\nservices = own\n[services own]\ndynamodb =\n  endpoint_url = ";
    rig.check(|secret| {
        write(&format!("{services}{}\n", rig.served.url), secret);
        Settings::default().arguments(&["--profile", "work"])
    });
    rig.check(|secret| {
        write("", OTHER_SECRET);
        let config = rig.home.write("config", format!("[default]\n{}", rig.endpoint()));
        let credentials = rig.home.write("credentials", profile("default", secret));
        let settings = Settings::default().env("AWS_CONFIG_FILE", config);
        settings.env("AWS_SHARED_CREDENTIALS_FILE", credentials)
    });
    rig.check(|secret| {
        let keys = as_json(secret).replace("\"Code\":\"Success\"", "\"Version\":1");
        let file = rig.home.write("process.json", keys.replace("Token", "SessionToken"));
        let process = format!("credential_process = /bin/cat {file}\n");
        rig.home.write(".aws/config", format!("[profile robot]\n{process}{}", rig.endpoint()));
        Settings::default().env("AWS_PROFILE", "robot")
    });
}

/// The SDK by itself prefers the keys in the environment.
#[test]
fn a_requested_profile_takes_precedence_over_the_environment() {
    let rig = Rig::start("aws-precedence");
    rig.home.write(".aws/config", format!("[profile work]\n{}", rig.endpoint()));
    rig.check(|secret| {
        rig.home.write(".aws/credentials", profile("work", secret));
        let other = if secret == SECRET { OTHER_SECRET } else { SECRET };
        rig.keys_in_environment(other).arguments(&["--profile", "work"])
    });
    // A profile in the environment does not, and one without keys falls back to the environment.
    rig.home.write(".aws/credentials", profile("work", OTHER_SECRET));
    let (success, out) = rig.list(&rig.keys_in_environment(SECRET).env("AWS_PROFILE", "work"));
    assert!(success, "{out}");
    rig.home.write(".aws/credentials", "");
    rig.check(|secret| rig.keys_in_environment(secret).arguments(&["--profile", "work"]));
}

#[test]
fn keys_come_from_container_and_instance_roles() {
    let rig = Rig::start("aws-roles");
    rig.check(|secret| {
        let keys = as_json(secret);
        let container = answering(move |head| {
            let is_meant = head.starts_with("get /keys ") && head.contains("authorization: let me");
            is_meant.then(|| keys.clone())
        });
        let settings = rig.endpoint_in_environment();
        settings
            .env("AWS_CONTAINER_CREDENTIALS_FULL_URI", format!("{container}/keys"))
            .env("AWS_CONTAINER_AUTHORIZATION_TOKEN", "let me")
    });
    rig.check(|secret| {
        let keys = as_json(secret);
        let machine = answering(move |head| {
            let (line, headers) = head.split_once("\r\n").unwrap();
            if line.starts_with("put /latest/api/token ") {
                return Some("of-the-machine".to_owned());
            }
            let path = line.split(' ').nth(1).unwrap();
            match path.strip_prefix("/latest/meta-data/")? {
                _ if !headers.contains("token: of-the-machine") => None,
                "placement/region" => Some(REGION.to_owned()),
                "iam/security-credentials/" => Some("role".to_owned()),
                "iam/security-credentials/role" => Some(keys.clone()),
                _ => None,
            }
        });
        // The region comes from the instance as well.
        let settings = Settings::default().env("AWS_ENDPOINT_URL", &rig.served.url);
        settings
            .env("AWS_EC2_METADATA_DISABLED", "false")
            .env("AWS_EC2_METADATA_SERVICE_ENDPOINT", machine)
    });
}

#[test]
fn a_role_is_assumed() {
    let rig = Rig::start("aws-assumed");
    let role = "arn:aws:iam::123456789012:role/keyloom";
    let token_file = rig.home.write("token", "a token of the cluster");
    let assume = |secret: &str, how: &str| {
        let keys = format!(
            "<AccessKeyId>{ID}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey>\
             <SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>"
        );
        let user = format!("<Arn>{role}</Arn><AssumedRoleId>i</AssumedRoleId>");
        let user = format!("<AssumedRoleUser>{user}</AssumedRoleUser>");
        let result = format!("<Credentials>{keys}</Credentials>{user}");
        format!(
            "<{how}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
             <{how}Result>{result}</{how}Result></{how}Response>"
        )
    };
    for by_profile in [true, false] {
        rig.check(|secret| {
            let how = if by_profile { "AssumeRole" } else { "AssumeRoleWithWebIdentity" };
            let answer = assume(secret, how);
            let service = answering(move |_| Some(answer.clone()));
            let settings = rig.endpoint_in_environment().env("AWS_ENDPOINT_URL_STS", service);
            if !by_profile {
                let settings = settings.env("AWS_WEB_IDENTITY_TOKEN_FILE", token_file.clone());
                return settings.env("AWS_ROLE_ARN", role).env("AWS_ROLE_SESSION_NAME", "test");
            }
            let source = "source_profile = work\n";
            rig.home.write(".aws/config", format!("[profile robot]\nrole_arn = {role}\n{source}"));
            rig.home.write(".aws/credentials", profile("work", OTHER_SECRET));
            settings.arguments(&["--profile", "robot"])
        });
    }
}

#[test]
fn missing_settings_are_errors() {
    let rig = Rig::start("aws-missing");
    for (settings, expected) in [
        (rig.keys_in_environment(SECRET), "requests without a region: set AWS_REGION"),
        (rig.endpoint_in_environment(), "credentials"),
        (rig.endpoint_in_environment().arguments(&["--profile", "nobody"]), "credentials"),
        (rig.environment(SECRET).env("AWS_ACCESS_KEY_ID", "SOMEBODY"), "security token"),
    ] {
        let (success, out) = rig.list(&settings);
        assert!(!success && out.contains(expected), "{expected}: {out}");
    }
}
