//! TLS from files.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::{ServerError, TlsFiles};

/// What accepts connections with the certificate of the files.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, ServerError> {
    let certificates = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| refused(&files.certificate, error))?;
    if certificates.is_empty() {
        return Err(refused(&files.certificate, "it holds no certificate"));
    }
    let key =
        PrivateKeyDer::from_pem_file(&files.key).map_err(|error| refused(&files.key, error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key));
    let mut config = config.map_err(|error| refused(&files.certificate, error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn refused(file: &Path, why: impl ToString) -> ServerError {
    ServerError::Tls { file: file.to_owned(), why: why.to_string() }
}
