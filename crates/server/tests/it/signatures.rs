//! Signatures. The good one was made by botocore, for this very request.

use keyloom_server::{Credentials, Limits};
use keyloom_store::Time;

use crate::rig::{Answer, Rig, Setup, post, short_limits};

/// 2026-01-31 09:05:07, when the request was signed.
const SIGNED_AT_SECS: u64 = 1_769_850_307;
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 \
    Credential=AKIDEXAMPLE/20260131/us-east-1/dynamodb/aws4_request, \
    SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
    Signature=6eb74bc6474d8b316a14cdc50d4d0521b7f8e5457d416c21bcca310126da9737";
const LIST: &str = "DynamoDB_20120810.ListTables";

/// A server with credentials, at the time of the signature.
pub(crate) fn rig(limits: Limits) -> Rig {
    let file = "[default]\naws_access_key_id = AKIDEXAMPLE\n\
                aws_secret_access_key = wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\n";
    let credentials = Some(Credentials::parse(file).unwrap());
    let rig = Rig::start(Setup { credentials, limits, ..Setup::default() });
    rig.clock.set(Time(SIGNED_AT_SECS * 1000));
    rig
}

fn signed(target: &str, authorization: &str, more: &str, body: &str) -> Vec<u8> {
    let headers =
        format!("X-Amz-Date: 20260131T090507Z\r\nAuthorization: {authorization}\r\n{more}");
    post(target, &headers, body)
}

/// The request with a valid signature.
pub(crate) fn list_tables() -> Vec<u8> {
    signed(LIST, AUTHORIZATION, "", "{}")
}

/// Announces a body, with an access key that the server knows.
pub(crate) fn announced(bytes: usize) -> Vec<u8> {
    announced_by(&format!("Authorization: {AUTHORIZATION}\r\n"), bytes)
}

fn announced_by(headers: &str, bytes: usize) -> Vec<u8> {
    let request = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Target: {LIST}\r\nX-Amz-Date: 20260131T090507Z\r\nContent-Length: {bytes}\r\n\
         {headers}\r\n"
    );
    request.into()
}

fn code(answer: &Answer) -> String {
    let text = answer.text();
    let (_, rest) = text.split_once('#').unwrap_or(("", "none\""));
    format!("{} {}", answer.status, rest.split('"').next().unwrap())
}

#[test]
fn a_valid_signature_is_accepted_within_five_minutes() {
    let rig = rig(short_limits());
    let request = list_tables();
    for (shift, expected) in [
        (0, "200 none"),
        (-300, "200 none"),
        (300, "200 none"),
        (-301, "400 InvalidSignatureException"),
        (301, "400 InvalidSignatureException"),
    ] {
        rig.clock.set(Time(SIGNED_AT_SECS.strict_add_signed(shift) * 1000));
        assert_eq!(code(&rig.send(&request)), expected, "{shift}");
    }
}

#[test]
fn a_changed_request_is_refused_before_it_is_parsed() {
    let rig = rig(short_limits());
    let invalid = "400 InvalidSignatureException";
    let incomplete = "400 IncompleteSignatureException";
    let with = |from: &str, to: &str| AUTHORIZATION.replace(from, to);
    let cases: &[(Vec<u8>, &str)] = &[
        (signed(LIST, AUTHORIZATION, "", "{ }"), invalid),
        (signed(LIST, AUTHORIZATION, "", "{"), invalid),
        (signed("DynamoDB_20120810.DeleteTable", AUTHORIZATION, "", "{}"), invalid),
        (signed(LIST, &with("9737", "9738"), "", "{}"), invalid),
        (signed(LIST, &with("9737", "97"), "", "{}"), invalid),
        (signed(LIST, &with("9737", "973"), "", "{}"), incomplete),
        (signed(LIST, &with("9737", "97zz"), "", "{}"), incomplete),
        (signed(LIST, &with("us-east-1", "us-east-2"), "", "{}"), invalid),
        (signed(LIST, &with("20260131/", "20260130/"), "", "{}"), invalid),
        (signed(LIST, &with("/dynamodb/", "/s3/"), "", "{}"), invalid),
        (signed(LIST, &with("aws4_request", "aws4"), "", "{}"), invalid),
        (signed(LIST, &with("/us-east-1", ""), "", "{}"), incomplete),
        (signed(LIST, &with("host;", ""), "", "{}"), invalid),
        (signed(LIST, &with(";x-amz-target", ""), "", "{}"), invalid),
        (signed(LIST, AUTHORIZATION, "X-Amz-Security-Token: x\r\n", "{}"), invalid),
        (signed(LIST, &with("x-amz-date", "x-amz-date;x-none"), "", "{}"), incomplete),
        (signed(LIST, &with("SHA256", "SHA1"), "", "{}"), incomplete),
        (signed(LIST, "", "", "{}"), incomplete),
        (signed(LIST, &with("AKIDEXAMPLE", "OTHER"), "", "{}"), "400 UnrecognizedClientException"),
        (post(LIST, "", "{}"), "400 MissingAuthenticationTokenException"),
        (post(LIST, &format!("Authorization: {AUTHORIZATION}\r\n"), "{}"), incomplete),
    ];
    for (request, expected) in cases {
        let shown = String::from_utf8_lossy(request);
        assert_eq!(code(&rig.send(request)), *expected, "{shown}");
    }
}

#[test]
fn the_body_of_a_request_with_an_unknown_key_is_not_waited_for() {
    let rig = rig(short_limits());
    let other = AUTHORIZATION.replace("AKIDEXAMPLE", "OTHER");
    let unknown = "400 UnrecognizedClientException";
    let missing = "400 MissingAuthenticationTokenException";
    // A body that does not arrive in time would be a 408.
    let announce = |headers: &str| code(&rig.send(&announced_by(headers, 1000)));
    assert_eq!(announce(&format!("Authorization: {other}\r\n")), unknown);
    assert_eq!(announce(""), missing);
    assert_eq!(code(&rig.send(&announced(1000))), "408 none");
}

#[test]
fn without_credentials_any_signature_is_accepted() {
    let rig = Rig::start(Setup::default());
    for request in [post(LIST, "", "{}"), signed(LIST, "made up", "", "{}")] {
        assert_eq!(code(&rig.send(&request)), "200 none");
    }
}
