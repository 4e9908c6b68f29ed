//! TLS: the server's own certificate, and trusted certificates of other servers.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::{ServerError, TlsFiles};

/// A certificate that can be reloaded while it is in use.
pub(crate) struct Certificate {
    files: TlsFiles,
    acceptor: RwLock<TlsAcceptor>,
}

impl Certificate {
    /// Loads the certificate from its files.
    pub(crate) fn load(files: &TlsFiles) -> Result<Certificate, ServerError> {
        Ok(Certificate { files: files.clone(), acceptor: RwLock::new(acceptor(files)?) })
    }

    /// An acceptor for new connections.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reloads the files, for new connections. If they cannot be used, nothing changes.
    pub(crate) fn reload(&self) -> Result<(), ServerError> {
        let acceptor = acceptor(&self.files)?;
        *self.acceptor.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
        Ok(())
    }
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, ServerError> {
    let certificates = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| refused(&files.certificate, error))?;
    if certificates.is_empty() {
        return Err(refused(&files.certificate, "it contains no certificate"));
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

/// The TLS configuration of clients: trusts the system's certificates, and those in a PEM file.
///
/// # Errors
///
/// If the file cannot be read.
pub(crate) fn client_tls(trusted: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(file) = trusted {
        let unread = |why: &dyn fmt::Display| {
            format!("The certificates in {} cannot be trusted: {why}.", file.display())
        };
        let found = CertificateDer::pem_file_iter(file).map_err(|error| unread(&error))?;
        for certificate in found {
            let certificate = certificate.map_err(|error| unread(&error))?;
            roots.add(certificate).map_err(|error| unread(&error))?;
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be used: {error}."))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn refused(file: &Path, why: impl ToString) -> ServerError {
    ServerError::Tls { file: file.to_owned(), why: why.to_string() }
}
