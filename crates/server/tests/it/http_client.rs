//! Requests to real servers: ones that answer, hang, disconnect, and use TLS.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Duration;

use keyloom_server::{HttpClient, HttpClientOptions, HttpError, HttpRequest, HttpResponse, Reach};

use crate::rig::{Rig, Setup};
use crate::tls;

/// Accepts one connection, reads a request with a body of two bytes, responds with these bytes, and
/// returns what it received.
fn receiver(answer: &'static [u8]) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut sent = vec![];
        while !sent.ends_with(b"\r\n\r\n{}") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            sent.extend(byte);
        }
        stream.write_all(answer).unwrap();
        String::from_utf8(sent).unwrap()
    });
    (address, thread)
}

fn request(address: impl Into<String>) -> HttpRequest {
    let headers = vec![("webhook-id".to_owned(), "7".to_owned())];
    HttpRequest { address: address.into(), headers, body: b"{}".to_vec() }
}

fn post(options: HttpClientOptions, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(HttpClient::new(options).unwrap().post(request))
}

#[test]
fn a_request_arrives_and_its_response_is_returned() {
    let answer = b"HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\nok";
    let (address, thread) = receiver(answer);
    let response =
        post(HttpClientOptions::default(), request(format!("http://{address}/a?b=c"))).unwrap();
    assert_eq!(response, HttpResponse { status: 202, body: b"ok".to_vec() });
    let sent = thread.join().unwrap().to_ascii_lowercase();
    assert!(sent.starts_with("post /a?b=c http/1.1\r\n"), "{sent}");
    for header in [&format!("host: {address}"), "content-type: application/json", "webhook-id: 7"] {
        assert!(sent.contains(&format!("\r\n{header}\r\n")), "{header} in {sent}");
    }
}

#[test]
fn a_redirect_is_returned_and_not_followed() {
    let (address, thread) =
        receiver(b"HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n");
    let response =
        post(HttpClientOptions::default(), request(format!("http://{address}/"))).unwrap();
    assert!(response.status == 307 && response.is_refused());
    thread.join().unwrap();
}

#[test]
fn a_missing_response_is_a_transient_error() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let options =
        HttpClientOptions { time: Duration::from_millis(20), ..HttpClientOptions::default() };
    let error = post(options, request(format!("http://{address}/"))).unwrap_err();
    assert!(error.message.contains("did not answer within 0.02 seconds"), "{error}");
    assert!(!error.is_permanent);
    drop(silent);
    let error =
        post(HttpClientOptions::default(), request(format!("http://{address}/"))).unwrap_err();
    assert!(error.message.contains("cannot be reached") && !error.is_permanent, "{error}");
    let (address, thread) = receiver(b"HTTP/1.1 200 OK\r\ncontent-le");
    let error =
        post(HttpClientOptions::default(), request(format!("http://{address}/"))).unwrap_err();
    assert!(!error.is_permanent, "{error}");
    thread.join().unwrap();
}

#[test]
fn an_invalid_request_is_a_permanent_error() {
    for address in ["nonsense", "ftp://127.0.0.1/", "http://u@127.0.0.1/"] {
        let error = post(HttpClientOptions::default(), request(address)).unwrap_err();
        assert!(error.is_permanent && error.message.contains("Invalid address"), "{error}");
    }
    let mut unfit = request("http://127.0.0.1:1/");
    unfit.headers = vec![("a".to_owned(), "b\r\nc: d".to_owned())];
    assert!(post(HttpClientOptions::default(), unfit).unwrap_err().is_permanent);
    let options = HttpClientOptions { reach: Reach::Public, ..HttpClientOptions::default() };
    // A name, plain addresses, and an address as a number, which resolvers accept.
    for host in ["localhost", "127.0.0.1", "[::1]", "10.0.0.1", "[::ffff:10.0.0.1]", "2130706433"] {
        let error = post(options.clone(), request(format!("http://{host}:1/"))).unwrap_err();
        assert!(error.is_permanent && error.message.contains("no public address"), "{error}");
    }
}

#[test]
fn only_trusted_certificates_are_accepted() {
    let rig = Rig::start(Setup { tls: Some(tls::files()), ..Setup::default() });
    let address = format!("https://localhost:{}/", rig.address.port());
    let error = post(HttpClientOptions::default(), request(address.clone())).unwrap_err();
    assert!(error.message.contains("certificate"), "{error}");
    let trusted = Some(tls::files().certificate);
    let response =
        post(HttpClientOptions { trusted, ..HttpClientOptions::default() }, request(address))
            .unwrap();
    assert!(
        response.status >= 400 && !response.body.is_empty(),
        "the endpoint wants another request"
    );
    let trusted = Some("/nowhere.pem".into());
    let error =
        HttpClient::new(HttpClientOptions { trusted, ..HttpClientOptions::default() }).unwrap_err();
    assert!(error.contains("/nowhere.pem"), "{error}");
}
