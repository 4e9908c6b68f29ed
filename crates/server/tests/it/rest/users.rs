//! Users of an identity provider: whose tokens are accepted, and for how long.

use std::sync::atomic::Ordering;
use std::time::Duration;

use keyloom::User;
use keyloom_server::{ClaimNames, IssuerOptions, Issuers, Limits, Role, TokenRequest};
use keyloom_store::Time;
use keyloom_testkit::ManualClock;
use pollster::block_on;
use serde_json::{Value as Json, json};

use super::ask::Ask;
use super::changes::Stream;
use super::served::{Door, Served, Setup};
use super::signed::{AUDIENCE, ISSUER, KeyServer, Signer, claims, encoded, issuer, key_file};
use crate::rig::{Answer, short_limits};

const MODEL: &str = r#"
[entity.note]
fields.author = "text"
fields.text   = "text"
access.owner  = "author"
access.read   = ["owner", "editor"]
access.create = ["owner"]
list.mine     = { path = "/notes", by = "author" }
"#;

const TENANTS: &str = r#"
[entity.note]
tenant = "team"
fields.team  = "text"
fields.text  = "text"
access.read  = ["everyone"]
access.create = ["everyone"]
list.all = { path = "/notes" }
"#;

/// Tokens and keys of kinds that `ring` cannot create, by another library.
const SIGNED: &str = include_str!("signed/tokens.json");

fn served(issuers: Vec<IssuerOptions>) -> Served {
    serve(MODEL, issuers)
}

fn serve(model: &str, issuers: Vec<IssuerOptions>) -> Served {
    Served::start(model, Setup { issuers, ..Setup::new(Door::Open) })
}

fn notes(served: &Served, token: &str) -> Answer {
    served.ask(&Ask::get("/notes").bearer(token))
}

fn with(mut claims: Json, name: &str, value: Json) -> Json {
    claims[name] = value;
    claims
}

#[test]
fn a_token_of_an_issuer_identifies_a_user() {
    for signer in [Signer::secret(7), Signer::ecdsa(), Signer::ed25519()] {
        let served = served(vec![issuer(key_file(&[signer.jwk("k")]))]);
        let (ann, bob) = (signer.sign("k", &claims("ann")), signer.sign("k", &claims("bob")));
        let create = Ask::post("/notes", &json!({ "text": "hello" })).bearer(&ann);
        let created = served.ask(&create).expect_json(201);
        assert_eq!(created["author"], "ann");
        assert_eq!(notes(&served, &ann).expect_json(200)["items"][0]["id"], created["id"]);
        assert_eq!(notes(&served, &bob).expect_json(200)["items"], json!([]));
        let path = format!("/notes/{}", created["id"].as_str().unwrap());
        assert_eq!(served.ask(&Ask::get(&path).bearer(&bob)).outcome(), "404 not-found");
        // Once an issuer is trusted, nobody is accepted without a token.
        assert_eq!(served.ask(&Ask::get("/notes")).outcome(), "401 unauthorized");
    }
}

#[test]
fn signatures_of_other_libraries_are_verified() {
    let signed: Json = serde_json::from_str(SIGNED).unwrap();
    let keys = signed["keys"].as_array().unwrap();
    let served = served(vec![issuer(key_file(keys))]);
    for (algorithm, token) in signed["tokens"].as_object().unwrap() {
        let token = token.as_str().unwrap();
        assert_eq!(notes(&served, token).status, 200, "{algorithm}");
        // Any other payload or signature is refused.
        let parts: Vec<&str> = token.split('.').collect();
        let other = encoded(claims("bob").to_string().as_bytes());
        let forged = format!("{}.{other}.{}", parts[0], parts[2]);
        assert_eq!(notes(&served, &forged).outcome(), "401 unauthorized", "{algorithm}");
        let cut = &token[..token.len() - 4];
        assert_eq!(notes(&served, cut).outcome(), "401 unauthorized", "{algorithm}");
    }
}

#[test]
fn invalid_tokens_are_refused_with_the_reason() {
    let (signer, stranger) = (Signer::secret(7), Signer::secret(8));
    let public = Signer::ecdsa();
    let served = served(vec![issuer(key_file(&[signer.jwk("k"), public.jwk("public")]))]);
    let now = ManualClock::START.0 / 1000;
    let sign = |claims: Json| signer.sign("k", &claims);
    let ann = || claims("ann");
    let without = |name: &str| {
        let mut claims = ann();
        claims.as_object_mut().unwrap().remove(name);
        claims
    };
    let header = |alg: &str| json!({ "alg": alg, "kid": "k" });
    let critical = |names: Json| json!({ "alg": "HS256", "kid": "k", "crit": names, "b64": true });
    let own = Signer::ed25519();
    let brought = |key: Json| {
        let algorithm = if key["kty"] == "oct" { "HS256" } else { "EdDSA" };
        let url = "http://127.0.0.1:9/keys";
        json!({ "alg": algorithm, "kid": key["kid"], "jwk": key, "jku": url, "x5u": url })
    };
    // The public key, as a text and as bytes, is no secret.
    let confused = Signer::Secret(public.jwk("public").to_string().into_bytes());
    let unsigned =
        format!("{}.{}.", encoded(br#"{"alg":"none"}"#), encoded(ann().to_string().as_bytes()));
    for (token, reason) in [
        (sign(with(ann(), "exp", json!(now))), "expired"),
        (sign(with(ann(), "exp", json!(now - 1))), "expired"),
        (sign(with(ann(), "exp", json!(-1))), "`exp`"),
        (sign(with(ann(), "exp", json!("tomorrow"))), "`exp`"),
        (sign(without("exp")), "`exp`"),
        (sign(with(ann(), "nbf", json!(now + 1))), "`nbf`"),
        (sign(with(ann(), "nbf", json!("soon"))), "`nbf`"),
        (sign(with(ann(), "aud", json!("somebody"))), "`aud`"),
        (sign(with(ann(), "aud", json!(["x", "y"]))), "`aud`"),
        (sign(without("aud")), "`aud`"),
        (sign(with(ann(), "iss", json!("https://login.example"))), "`iss`"),
        (sign(with(ann(), "iss", json!([ISSUER]))), "JSON Web Token"),
        (sign(without("iss")), "JSON Web Token"),
        (sign(with(ann(), "sub", json!(""))), "`sub`"),
        (sign(with(ann(), "sub", json!(7))), "`sub`"),
        (sign(without("sub")), "`sub`"),
        (sign(with(ann(), "roles", json!(7))), "`roles`"),
        (stranger.sign("k", &ann()), "signature"),
        (stranger.sign("unknown", &ann()), "no key"),
        (confused.sign("public", &ann()), "no key"),
        (signer.sign_as(&header("HS384"), &ann()), "signature"),
        (signer.sign_as(&header("RS256"), &ann()), "no key"),
        (signer.sign_as(&header("none"), &ann()), "header"),
        (unsigned, "header"),
        // Extensions that nobody here understands, and keys that the token brings along.
        (signer.sign_as(&critical(json!(["b64"])), &ann()), "`crit`"),
        (signer.sign_as(&critical(json!(["exp"])), &ann()), "`crit`"),
        (signer.sign_as(&critical(json!([])), &ann()), "`crit`"),
        (signer.sign_as(&critical(json!("b64")), &ann()), "header"),
        (stranger.sign_as(&brought(stranger.jwk("k")), &ann()), "signature"),
        (own.sign_as(&brought(own.jwk("own")), &ann()), "no key"),
        (format!("{0}.{0}.{0}", encoded(sign(ann()).as_bytes())), "JSON Web Token"),
        (format!("{}.x.y", sign(ann())), "JSON Web Token"),
        ("a.b.c".to_owned(), "JSON Web Token"),
        ("..".to_owned(), "JSON Web Token"),
        ("x".repeat(3000), "JSON Web Token"),
    ] {
        let answer = notes(&served, &token);
        assert_eq!(answer.outcome(), "401 unauthorized", "{token}");
        let detail = answer.expect_json(401)["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(reason), "{detail} should say {reason}");
    }
    assert_eq!(notes(&served, &sign(with(ann(), "aud", json!(["x", AUDIENCE])))).status, 200);
    assert_eq!(notes(&served, &sign(with(ann(), "nbf", json!(now)))).status, 200);
}

#[test]
fn keys_verify_what_they_are_declared_for() {
    let (signer, other) = (Signer::secret(7), Signer::ed25519());
    let public = Signer::ecdsa();
    for (name, value, status) in [
        ("use", json!("sig"), 200),
        ("use", json!("enc"), 401),
        ("use", json!("tls"), 401),
        ("key_ops", json!(["sign", "verify"]), 200),
        ("key_ops", json!(["encrypt"]), 401),
        ("key_ops", json!([]), 401),
        ("alg", json!("HS256"), 200),
        ("alg", json!("HS512"), 401),
        ("alg", json!("RSA-OAEP"), 401),
        // A private key verifies as the public one does.
        ("d", json!(encoded(&[1; 32])), 200),
    ] {
        let served = served(vec![issuer(key_file(&[
            with(signer.jwk("k"), name, value.clone()),
            with(public.jwk("public"), "d", json!(encoded(&[1; 32]))),
            other.jwk("other"),
        ]))]);
        let answer = notes(&served, &signer.sign("k", &claims("ann")));
        assert_eq!(answer.status, status, "{name}: {value}");
        assert_eq!(notes(&served, &public.sign("public", &claims("ann"))).status, 200);
    }
}

#[test]
fn clocks_may_differ_by_the_leeway() {
    let signer = Signer::secret(7);
    let leeway = std::time::Duration::from_secs(60);
    let issuer = IssuerOptions { leeway, ..issuer(key_file(&[signer.jwk("k")])) };
    let served = served(vec![issuer]);
    let now = ManualClock::START.0 / 1000;
    let status = |claim: &str, time: u64| {
        notes(&served, &signer.sign("k", &with(claims("ann"), claim, json!(time)))).status
    };
    assert_eq!([status("exp", now - 59), status("exp", now - 60)], [200, 401]);
    assert_eq!([status("nbf", now + 60), status("nbf", now + 61)], [200, 401]);
}

#[test]
fn keys_at_a_url_are_fetched_again_when_they_rotate() {
    let (old, new, server) = (Signer::ecdsa(), Signer::ecdsa(), KeyServer::default());
    *server.keys.lock().unwrap() = Some(vec![old.jwk("old")]);
    let served = served(vec![issuer(server.start())]);
    let requests = || server.requests.load(Ordering::SeqCst);
    let (by_old, by_new) = (old.sign("old", &claims("ann")), new.sign("new", &claims("ann")));
    for _ in 0..5 {
        assert_eq!(notes(&served, &by_old).status, 200);
    }
    assert_eq!(requests(), 1);
    // A crowd with unknown keys causes no requests.
    for _ in 0..5 {
        assert_eq!(notes(&served, &by_new).status, 401);
    }
    assert_eq!(requests(), 1);
    *server.keys.lock().unwrap() = Some(vec![old.jwk("old"), new.jwk("new")]);
    served.rig.clock.advance_ms(10_000);
    assert_eq!(notes(&served, &by_new).status, 200);
    assert_eq!(requests(), 2);
    // A withdrawn key is not accepted for long: the keys are fetched while the next request is served.
    *server.keys.lock().unwrap() = Some(vec![new.jwk("new")]);
    served.rig.clock.advance_ms(5 * 60_000);
    assert_eq!(notes(&served, &by_old).status, 200);
    while requests() < 3 {
        std::thread::yield_now();
    }
    // A token with an unknown key waits until keys that are being fetched are known.
    let by_unknown = old.sign("unknown", &claims("ann"));
    assert_eq!(notes(&served, &by_unknown).status, 401);
    assert_eq!(notes(&served, &by_old).status, 401);
    assert_eq!(requests(), 3);
    // An issuer that is down takes no keys away. Without waiting for the failure, it could be met after the
    // clock has been advanced again.
    *server.keys.lock().unwrap() = None;
    for _ in 0..5 {
        served.rig.clock.advance_ms(5 * 60_000);
        assert_eq!(notes(&served, &by_new).status, 200);
        assert_eq!(notes(&served, &by_unknown).status, 401);
    }
    // After a quiet time, the first request waits for the keys; an empty set withdraws all.
    *server.keys.lock().unwrap() = Some(vec![]);
    served.rig.clock.advance_ms(10 * 60_000);
    assert_eq!(notes(&served, &by_new).status, 401);
}

#[test]
fn a_client_that_goes_away_keeps_nobody_from_the_keys() {
    let (signer, server) = (Signer::ecdsa(), KeyServer::default());
    *server.keys.lock().unwrap() = Some(vec![signer.jwk("k")]);
    let served = served(vec![issuer(server.start())]);
    let token = signer.sign("k", &claims("ann"));
    let held = server.keys.lock().unwrap();
    let request = Ask::get("/notes").bearer(&token).bytes();
    for _ in 0..3 {
        use std::io::Write as _;
        let mut stream = served.rig.connect();
        stream.write_all(&request).unwrap();
        // The server of the keys has the request, and waits for them.
        while server.requests.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
    }
    drop(held);
    assert_eq!(notes(&served, &token).status, 200);
}

#[test]
fn users_of_several_issuers_are_not_confused() {
    let (one, other) = (Signer::secret(7), Signer::secret(8));
    let with_prefix = |name: &str, prefix: &str, signer: &Signer| IssuerOptions {
        issuer: name.to_owned(),
        subject_prefix: prefix.to_owned(),
        ..issuer(key_file(&[signer.jwk("k")]))
    };
    let clock = || std::sync::Arc::new(ManualClock::new());
    for prefixes in [["", ""], ["", "b:"], ["a", "ab"], ["a:", "a:"]] {
        let issuers = prefixes.into_iter().zip(["a", "b"]);
        let issuers = issuers.map(|(prefix, name)| with_prefix(name, prefix, &one)).collect();
        assert!(Issuers::new(issuers, clock()).is_err(), "{prefixes:?}");
    }
    let served = served(vec![with_prefix("a", "a:", &one), with_prefix("b", "b:", &other)]);
    let ann =
        |name: &str, signer: &Signer| signer.sign("k", &with(claims("ann"), "iss", json!(name)));
    let create = Ask::post("/notes", &json!({ "text": "hello" })).bearer(&ann("a", &one));
    assert_eq!(served.ask(&create).expect_json(201)["author"], "a:ann");
    assert_eq!(notes(&served, &ann("b", &other)).expect_json(200)["items"], json!([]));
    assert_eq!(notes(&served, &ann("a", &other)).outcome(), "401 unauthorized");
}

#[test]
fn without_the_keys_of_an_issuer_its_users_wait_and_others_do_not() {
    let (signer, server) = (Signer::ecdsa(), KeyServer::default());
    let served = served(vec![issuer(server.start())]);
    let token = signer.sign("k", &claims("ann"));
    let answer = notes(&served, &token);
    assert_eq!(answer.outcome(), "503 busy");
    assert!(answer.header("retry-after").is_some());
    let reader = served.token(Role::Reader, None);
    assert_eq!(notes(&served, &reader).outcome(), "400 bad-parameter");
    *server.keys.lock().unwrap() = Some(vec![signer.jwk("k")]);
    // The next try is a second later.
    assert_eq!(notes(&served, &token).outcome(), "503 busy");
    served.rig.clock.advance_ms(1_000);
    assert_eq!(notes(&served, &token).status, 200);
}

#[test]
fn secrets_at_a_url_are_not_accepted() {
    let (signer, server) = (Signer::secret(7), KeyServer::default());
    *server.keys.lock().unwrap() = Some(vec![signer.jwk("k")]);
    let served = served(vec![issuer(server.start())]);
    let token = signer.sign("k", &claims("ann"));
    assert_eq!(notes(&served, &token).outcome(), "401 unauthorized");
}

#[test]
fn the_token_alone_names_the_tenant_of_a_user() {
    let signer = Signer::secret(7);
    let names = ClaimNames {
        tenant: Some("org.id".to_owned()),
        roles: Some("groups".to_owned()),
        ..ClaimNames::default()
    };
    let roles = [("ops".to_owned(), vec!["admin".to_owned()])].into();
    let keys = key_file(&[signer.jwk("k")]);
    let served = serve(TENANTS, vec![IssuerOptions { claims: names, roles, ..issuer(keys) }]);
    let token = |tenant: &str, groups: Json| {
        let claims = with(claims("ann"), "org", json!({ "id": tenant }));
        signer.sign("k", &with(claims, "groups", groups))
    };
    let (red, blue) = (token("red", json!([])), token("blue", json!(["admin"])));
    let create = Ask::post("/notes", &json!({ "text": "hello" })).bearer(&red);
    assert_eq!(served.ask(&create).expect_json(201)["team"], "red");
    assert_eq!(notes(&served, &red).expect_json(200)["items"].as_array().unwrap().len(), 1);
    assert_eq!(notes(&served, &blue).expect_json(200)["items"], json!([]));
    for token in [&red, &blue] {
        let other = served.ask(&Ask::get("/notes").bearer(token).tenant("green"));
        assert_eq!(other.outcome(), "403 forbidden");
        assert_eq!(served.ask(&Ask::get("/tokens").bearer(token)).outcome(), "403 forbidden");
    }
    // Admins, which the operator of the server makes them, see all tenants.
    let ops = token("blue", json!("sales ops"));
    let seen = served.ask(&Ask::get("/notes").bearer(&ops).tenant("red")).expect_json(200);
    assert_eq!(seen["items"].as_array().unwrap().len(), 1);
    assert_eq!(served.ask(&Ask::get("/tokens").bearer(&ops)).status, 200);
    let without = signer.sign("k", &claims("ann"));
    assert_eq!(notes(&served, &without).outcome(), "401 unauthorized");
}

#[test]
fn a_stream_ends_when_the_token_of_its_user_expires() {
    let signer = Signer::secret(7);
    let served = served(vec![issuer(key_file(&[signer.jwk("k")]))]);
    let token = signer.sign("k", &claims("ann"));
    let ask = Ask::get(&format!("/notes?live=true&access_token={token}"));
    let mut stream = Stream::open(&served, &ask);
    assert_eq!(stream.next_or_end().expect("a page").name, "page");
    let create = Ask::post("/notes", &json!({ "text": "hello" })).bearer(&token);
    served.ask(&create).expect_json(201);
    assert_eq!(stream.next_or_end().expect("an event").name, "enter");
    served.rig.clock.advance_ms(3_600_000);
    while let Some(told) = stream.next_or_end() {
        assert_eq!(told.name, "", "nothing but comments: {told:?}");
    }
}

/// A review found that streams went on for a minute after their token had expired.
#[test]
fn a_stream_shows_nothing_after_its_token_has_expired() {
    let signer = Signer::secret(7);
    // Nothing else looks at the token within the test.
    let limits = Limits { head_time: Duration::from_secs(600), ..short_limits() };
    let issuers = vec![issuer(key_file(&[signer.jwk("k")]))];
    let served = Served::start(MODEL, Setup { issuers, limits, ..Setup::new(Door::Open) });
    let user = Some(User::new("ann", [""; 0]));
    let expires = Some(Time(ManualClock::START.0 + 3_600_000));
    let (role, name) = (Role::User, "test".to_owned());
    let request = TokenRequest { role, user, tenant: None, name, expires };
    let of_server = block_on(served.tokens.create(request)).unwrap().1;
    let mut streams = vec![];
    for token in [signer.sign("k", &claims("ann")), of_server] {
        let mut stream = Stream::open(&served, &Ask::get("/notes?live=true").bearer(&token));
        assert_eq!(stream.next_or_end().expect("a page").name, "page");
        streams.push(stream);
    }
    served.rig.clock.advance_ms(3_600_000);
    let note = json!({ "author": "ann", "text": "too late" });
    block_on(served.db.create("note", &note)).unwrap();
    for stream in &mut streams {
        assert_eq!(stream.next_or_end(), None);
    }
}

/// A review found that a stream did not look at its token as long as it had changes to catch up with.
#[test]
fn a_stream_that_catches_up_ends_with_its_token() {
    let limits = Limits { head_time: Duration::from_secs(600), ..short_limits() };
    let served = Served::start(MODEL, Setup { limits, ..Setup::new(Door::Closed) });
    let start = block_on(served.db.newest_position()).unwrap();
    // More than a page, and than the buffers between a server and a client that does not read.
    let text = "x".repeat(100_000);
    for _ in 0..400 {
        block_on(served.db.create("note", &json!({ "author": "ann", "text": text }))).unwrap();
    }
    let expires = Some(Time(ManualClock::START.0 + 3_600_000));
    let (role, user, name) = (Role::Reader, None, "test".to_owned());
    let request = TokenRequest { role, user, tenant: None, name, expires };
    let token = block_on(served.tokens.create(request)).unwrap().1;
    let ask = Ask::get(&format!("/changes?after={start}")).bearer(&token);
    let mut stream = Stream::open(&served, &ask);
    served.rig.clock.advance_ms(3_600_000);
    let mut count = 0;
    while stream.next_or_end().is_some() {
        count += 1;
    }
    assert!((1..400).contains(&count), "{count}");
}

/// A review found that the tenants `07` and `+7` of an identity provider were the tenant `7` here.
#[test]
fn a_tenant_that_is_a_number_has_one_name() {
    let signer = Signer::secret(7);
    let names = ClaimNames { tenant: Some("org".to_owned()), ..ClaimNames::default() };
    let keys = key_file(&[signer.jwk("k")]);
    let model = TENANTS.replace("\"text\"\nfields.text", "\"int\"\nfields.text");
    let served = serve(&model, vec![IssuerOptions { claims: names, ..issuer(keys) }]);
    let token = |tenant: Json| signer.sign("k", &with(claims("ann"), "org", tenant));
    let create = Ask::post("/notes", &json!({ "text": "hello" }));
    let created = served.ask(&create.bearer(&token(json!("7")))).expect_json(201);
    assert_eq!(created["team"], 7);
    let found = notes(&served, &token(json!(7))).expect_json(200);
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    for other in ["07", "+7", "007", "7.0", " 7"] {
        let answer = notes(&served, &token(json!(other)));
        assert_eq!(answer.outcome(), "400 tenant-needed", "{other:?}");
    }
}

#[test]
fn an_idempotency_key_of_one_user_replays_nothing_to_another() {
    let signer = Signer::secret(7);
    let served = served(vec![issuer(key_file(&[signer.jwk("k")]))]);
    let create = Ask::post("/notes", &json!({ "text": "hello" })).header("Idempotency-Key", "1");
    let create = |token: &str| served.ask(&create.clone().bearer(token));
    let (ann, bob) = (signer.sign("k", &claims("ann")), signer.sign("k", &claims("bob")));
    let admin = served.token(Role::Admin, None);
    let of_server = served.user(User::new("ann", [""; 0]));
    assert_eq!(create(&ann).expect_json(201)["author"], "ann");
    assert_eq!(create(&bob).expect_json(201)["author"], "bob");
    let replayed = create(&bob);
    assert_eq!(replayed.header("idempotency-replayed"), Some("true"));
    assert_eq!(replayed.expect_json(201)["author"], "bob");
    assert_eq!(create(&of_server).header("idempotency-replayed"), None);
    // The document has no author, which no rule adds for the admin.
    assert_eq!(create(&admin).status, 422);
}

#[test]
fn a_token_of_this_server_can_be_of_a_user() {
    let served = Served::closed(MODEL);
    let admin = served.token(Role::Admin, None);
    let request = json!({ "role": "user", "subject": "ann", "roles": ["editor"] });
    let made = served.ask(&Ask::post("/tokens", &request).bearer(&admin)).expect_json(201);
    assert_eq!((&made["subject"], &made["roles"]), (&json!("ann"), &json!(["editor"])));
    let ann = made["token"].as_str().unwrap();
    let bob = served.user(User::new("bob", [""; 0]));
    let create = Ask::post("/notes", &json!({ "text": "hello" }));
    let of_bob = served.ask(&create.clone().bearer(&bob)).expect_json(201);
    let path = format!("/notes/{}", of_bob["id"].as_str().unwrap());
    assert_eq!(served.ask(&Ask::get(&path).bearer(ann)).status, 200);
    let id = made["id"].as_str().unwrap();
    assert_eq!(served.ask(&Ask::delete(&format!("/tokens/{id}")).bearer(&admin)).status, 204);
    assert_eq!(served.ask(&Ask::get(&path).bearer(ann)).outcome(), "401 unauthorized");
}

#[test]
fn a_token_of_a_user_without_a_tenant_reaches_none() {
    let served = Served::closed(TENANTS);
    let ann = served.user(User::new("ann", [""; 0]));
    let named = served.ask(&Ask::get("/notes").bearer(&ann).tenant("red"));
    assert_eq!(named.outcome(), "403 forbidden");
    assert_eq!(notes(&served, &ann).outcome(), "400 tenant-needed");
}

#[test]
fn requests_for_tokens_of_users_are_checked() {
    let served = Served::closed(MODEL);
    let admin = served.token(Role::Admin, None);
    for request in [
        json!({ "role": "user" }),
        json!({ "role": "user", "subject": "" }),
        json!({ "role": "user", "subject": "ann", "roles": "editor" }),
        json!({ "role": "user", "subject": "ann", "roles": ["admin"] }),
        json!({ "role": "user", "subject": "ann", "roles": [""] }),
        json!({ "role": "user", "roles": ["editor"] }),
        json!({ "role": "reader", "subject": "ann" }),
        json!({ "role": "writer", "roles": ["editor"] }),
    ] {
        let answer = served.ask(&Ask::post("/tokens", &request).bearer(&admin));
        assert_eq!(answer.outcome(), "422 invalid", "{request}");
    }
}

#[test]
fn wrong_issuers_are_refused_at_start() {
    let signer = Signer::secret(7);
    let keys = || key_file(&[signer.jwk("k")]);
    let short = key_file(&[json!({ "kty": "oct", "k": encoded(b"short") })]);
    let missing = keyloom_server::KeySource::File("/nowhere/keys.json".into());
    let url = keyloom_server::KeySource::Url("ftp://example.com".to_owned());
    for (issuers, expected) in [
        (vec![issuer(keys()), issuer(keys())], "twice"),
        (vec![IssuerOptions { audiences: vec![], ..issuer(keys()) }], "audience"),
        (vec![issuer(missing)], "/nowhere/keys.json"),
        (vec![issuer(url)], "https://"),
        (vec![issuer(short)], "32 bytes"),
        (vec![issuer(key_file(&[]))], "no key"),
        (vec![issuer(key_file(&[json!({ "kty": "EC", "crv": "P-521" })]))], "no key"),
    ] {
        let clock = std::sync::Arc::new(ManualClock::new());
        let error = Issuers::new(issuers, clock).expect_err("they are wrong");
        assert!(error.contains(expected), "{error}");
    }
}
