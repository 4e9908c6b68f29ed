//! TLS, with a client that trusts only the test certificate.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

use keyloom_server::TlsFiles;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::rig::{Answer, Rig, Setup, post};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/certificates");

/// The certificate of the tests and its key.
pub(crate) fn files() -> TlsFiles {
    TlsFiles {
        certificate: format!("{FOLDER}/localhost.pem").into(),
        key: format!("{FOLDER}/localhost.key").into(),
    }
}

/// A connection that trusts the certificate of the tests.
pub(crate) fn client(stream: TcpStream) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(files().certificate).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream)
}

#[test]
fn requests_are_answered_over_tls_and_not_without() {
    let rig = Rig::start(Setup { tls: Some(files()), ..Setup::default() });
    let mut stream = client(rig.connect());
    let request = post("DynamoDB_20120810.ListTables", "", "{}");
    stream.write_all(&request).unwrap();
    let answer = Answer::read(&mut stream);
    assert_eq!((answer.status, answer.text()), (200, r#"{"TableNames":[]}"#));
    assert_eq!(rig.send(&request).status, 0, "plain HTTP gets no answer");
}
