//! `keyloom` finds keys, region and endpoint of DynamoDB where AWS's own tools find them.
//!
//! The endpoint lets in who signs with the right secret. So what goes through was found and used, and
//! the same with another secret must be refused.

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

/// An endpoint that checks signatures, and a home without settings.
struct Rig {
    served: Served,
    home: Folder,
}

/// What a run is told besides the table: its environment, and arguments.
#[derive(Default)]
struct Told {
    environment: Vec<(&'static str, String)>,
    arguments: Vec<String>,
}

impl Told {
    fn env(mut self, name: &'static str, value: impl Into<String>) -> Told {
        self.environment.push((name, value.into()));
        self
    }

    fn arguments(mut self, arguments: &[&str]) -> Told {
        self.arguments.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }
}

impl Rig {
    /// One with a table.
    fn start(name: &str) -> Rig {
        let home = Folder::new(&format!("{name}-home"));
        std::fs::create_dir(home.path(".aws")).unwrap();
        let keys = home.write("keys", profile("only", SECRET));
        let rig = Rig { served: Served::signed(&format!("{name}-data"), &keys), home };
        rig.make_table();
        let told = rig.environment(SECRET);
        let (success, out) = rig.run(&["token", "create", "--role", "reader"], &told);
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

    /// All that can be said in the environment.
    fn environment(&self, secret: &str) -> Told {
        self.keys_in_environment(secret)
            .env("AWS_REGION", REGION)
            .env("AWS_ENDPOINT_URL", &self.served.url)
    }

    fn keys_in_environment(&self, secret: &str) -> Told {
        Told::default().env("AWS_ACCESS_KEY_ID", ID).env("AWS_SECRET_ACCESS_KEY", secret)
    }

    /// Where the service is, in the environment.
    fn place_in_environment(&self) -> Told {
        Told::default().env("AWS_REGION", REGION).env("AWS_ENDPOINT_URL", &self.served.url)
    }

    /// Settings of a profile, where the service is.
    fn place(&self) -> String {
        format!("region = {REGION}\nendpoint_url = {}\n", self.served.url)
    }

    /// Whether the command did well on the table, and what it said.
    fn run(&self, command: &[&str], told: &Told) -> (bool, String) {
        let mut keyloom = keyloom();
        // Whoever asks for a machine's role says where to ask.
        keyloom.env_clear().env("AWS_EC2_METADATA_DISABLED", "true");
        keyloom.env("HOME", self.home.path("")).envs(told.environment.clone());
        let output = keyloom.args(command).args(["--dynamodb", "keyloom"]).args(&told.arguments);
        let output = output.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    }

    fn list(&self, told: &Told) -> (bool, String) {
        self.run(&["token", "list"], told)
    }

    /// `told` makes settings with a secret: the right one goes through, another does not.
    fn check(&self, told: impl Fn(&str) -> Told) {
        let (success, out) = self.list(&told(SECRET));
        assert!(success && out.contains("reader"), "{out}");
        let (success, out) = self.list(&told(OTHER_SECRET));
        assert!(!success && out.contains("signature"), "{out}");
    }
}

/// A profile of `~/.aws/credentials`.
fn profile(name: &str, secret: &str) -> String {
    format!("[{name}]\naws_access_key_id = {ID}\naws_secret_access_key = {secret}\n")
}

/// The keys as machines and containers are told them.
fn as_json(secret: &str) -> String {
    let keys = format!(r#""AccessKeyId":"{ID}","SecretAccessKey":"{secret}","Token":"t""#);
    format!(r#"{{"Code":"Success",{keys},"Expiration":"2099-01-01T00:00:00Z"}}"#)
}

/// A server in this process. It answers a request, its first line and its headers, with a body, or
/// that there is nothing.
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
            // The metadata of machines say how long a token lasts.
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
    // An endpoint of one's own has no regions, whichever way it is said.
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
        write(&format!("[default]\n{}", rig.place()), secret);
        Told::default()
    });
    let work = format!("[profile work]\n{}", rig.place());
    rig.check(|secret| {
        write(&work, secret);
        Told::default().env("AWS_PROFILE", "work")
    });
    rig.check(|secret| {
        write(&work, secret);
        Told::default().arguments(&["--profile", "work"])
    });
    let services = "[profile work]\nservices = own\n[services own]\ndynamodb =\n  endpoint_url = ";
    rig.check(|secret| {
        write(&format!("{services}{}\n", rig.served.url), secret);
        Told::default().arguments(&["--profile", "work"])
    });
    rig.check(|secret| {
        write("", OTHER_SECRET);
        let config = rig.home.write("config", format!("[default]\n{}", rig.place()));
        let credentials = rig.home.write("credentials", profile("default", secret));
        let told = Told::default().env("AWS_CONFIG_FILE", config);
        told.env("AWS_SHARED_CREDENTIALS_FILE", credentials)
    });
    rig.check(|secret| {
        let keys = as_json(secret).replace("\"Code\":\"Success\"", "\"Version\":1");
        let file = rig.home.write("process.json", keys.replace("Token", "SessionToken"));
        let process = format!("credential_process = /bin/cat {file}\n");
        rig.home.write(".aws/config", format!("[profile robot]\n{process}{}", rig.place()));
        Told::default().env("AWS_PROFILE", "robot")
    });
}

/// The SDK alone takes the keys of the environment first.
#[test]
fn a_profile_that_is_asked_for_comes_before_the_environment() {
    let rig = Rig::start("aws-precedence");
    rig.home.write(".aws/config", format!("[profile work]\n{}", rig.place()));
    rig.check(|secret| {
        rig.home.write(".aws/credentials", profile("work", secret));
        let other = if secret == SECRET { OTHER_SECRET } else { SECRET };
        rig.keys_in_environment(other).arguments(&["--profile", "work"])
    });
    // One that is set for all programs does not, and one without keys leaves it to the environment.
    rig.home.write(".aws/credentials", profile("work", OTHER_SECRET));
    let (success, out) = rig.list(&rig.keys_in_environment(SECRET).env("AWS_PROFILE", "work"));
    assert!(success, "{out}");
    rig.home.write(".aws/credentials", "");
    rig.check(|secret| rig.keys_in_environment(secret).arguments(&["--profile", "work"]));
}

#[test]
fn keys_are_those_of_the_role_of_a_container_or_machine() {
    let rig = Rig::start("aws-roles");
    rig.check(|secret| {
        let keys = as_json(secret);
        let container = answering(move |head| {
            let is_meant = head.starts_with("get /keys ") && head.contains("authorization: let me");
            is_meant.then(|| keys.clone())
        });
        let told = rig.place_in_environment();
        told.env("AWS_CONTAINER_CREDENTIALS_FULL_URI", format!("{container}/keys"))
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
        // The region is the machine's, too.
        let told = Told::default().env("AWS_ENDPOINT_URL", &rig.served.url);
        told.env("AWS_EC2_METADATA_DISABLED", "false")
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
            let told = rig.place_in_environment().env("AWS_ENDPOINT_URL_STS", service);
            if !by_profile {
                let told = told.env("AWS_WEB_IDENTITY_TOKEN_FILE", token_file.clone());
                return told.env("AWS_ROLE_ARN", role).env("AWS_ROLE_SESSION_NAME", "test");
            }
            let source = "source_profile = work\n";
            rig.home.write(".aws/config", format!("[profile robot]\nrole_arn = {role}\n{source}"));
            rig.home.write(".aws/credentials", profile("work", OTHER_SECRET));
            told.arguments(&["--profile", "robot"])
        });
    }
}

#[test]
fn what_is_missing_is_told() {
    let rig = Rig::start("aws-missing");
    for (told, expected) in [
        (rig.keys_in_environment(SECRET), "requests without a region: set AWS_REGION"),
        (rig.place_in_environment(), "credentials"),
        (rig.place_in_environment().arguments(&["--profile", "nobody"]), "credentials"),
        (rig.environment(SECRET).env("AWS_ACCESS_KEY_ID", "SOMEBODY"), "security token"),
    ] {
        let (success, out) = rig.list(&told);
        assert!(!success && out.contains(expected), "{expected}: {out}");
    }
}
