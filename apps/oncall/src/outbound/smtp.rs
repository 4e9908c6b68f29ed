//! SMTP by lettre: one connection per mail, with implicit TLS, STARTTLS or no TLS, and a time limit.

use std::error::Error as _;
use std::fmt::{self, Display};
use std::time::Duration;

use lettre::Message;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::{Error, client};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::slow_stream::SlowStream;

/// The time limit for a mail to be accepted.
const SEND_TIME: Duration = Duration::from_secs(30);
/// The time limit for QUIT.
const QUIT_TIME: Duration = Duration::from_secs(1);

/// A mail server.
#[derive(Clone)]
pub(super) struct Server {
    host: String,
    port: u16,
    security: Security,
    user: Option<Credentials>,
}

#[derive(Clone)]
enum Security {
    None,
    StartTls(TlsParameters),
    Tls(TlsParameters),
}

/// Why a mail was not sent.
#[derive(Debug)]
pub(super) enum Unsent {
    /// Permanently refused.
    Refused(String),
    /// Failed, can be retried.
    Failed(String),
}

impl Server {
    /// Parses `smtps://host`, `smtp+starttls://host` or `smtp://host`, each with an optional port.
    pub(super) fn new(address: &str, user: Option<(String, String)>) -> Result<Server, String> {
        let invalid = |why: &str| {
            format!(
                "Invalid mail server `{address}`: {why}. Write `smtps://host`, \
                 `smtp+starttls://host` or, without TLS, `smtp://host:25`."
            )
        };
        let (scheme, host) = address.split_once("://").ok_or_else(|| invalid("not a URL"))?;
        let default = match scheme {
            "smtps" => 465,
            "smtp+starttls" => 587,
            "smtp" => 25,
            _ => return Err(invalid("unknown scheme")),
        };
        let host = host.trim_end_matches('/');
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| invalid("invalid port"))?)
            }
            Some(_) | None => (host, default),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() || host.contains(['@', '/']) {
            return Err(invalid("invalid host"));
        }
        let security = Security::new(scheme, &host)?;
        if user.is_some() && matches!(security, Security::None) {
            return Err(invalid("a password is only sent over TLS"));
        }
        Ok(Server { host, port, security, user: user.map(Credentials::from) })
    }

    /// Sends a mail.
    pub(super) async fn send(&self, mail: &Message) -> Result<(), Unsent> {
        let sent = timeout(SEND_TIME, self.exchange(mail)).await;
        let mut connection = sent.map_err(|_| self.unusable("timed out"))??;
        // The mail is accepted, whatever the result of QUIT.
        let _ = timeout(QUIT_TIME, connection.quit()).await;
        Ok(())
    }

    async fn exchange(&self, mail: &Message) -> Result<AsyncSmtpConnection, Unsent> {
        let mut connection = self.connect().await?;
        match connection.send(mail.envelope(), &mail.formatted()).await {
            Ok(_) => Ok(connection),
            Err(error) if error.is_permanent() => {
                Err(Unsent::Refused(format!("The mail server refused it: {}.", reason(&error))))
            }
            Err(error) if error.is_transient() => {
                Err(Unsent::Failed(format!("The mail server deferred it: {}.", reason(&error))))
            }
            Err(error) => Err(self.unusable(error)),
        }
    }

    /// Opens a connection that is ready to send mail. Errors before that are not permanent: the mail is
    /// not the cause.
    async fn connect(&self) -> Result<AsyncSmtpConnection, Unsent> {
        let failed = |error: Error| self.unusable(reason(&error));
        let hello = ClientId::Domain("keyloom".to_owned());
        let mut connection = match &self.security {
            Security::Tls(tls) => {
                let (address, tls) = ((self.host.as_str(), self.port), Some(tls.clone()));
                AsyncSmtpConnection::connect_tokio1(address, None, &hello, tls, None)
                    .await
                    .map_err(failed)?
            }
            Security::None => self.plain(&hello).await?,
            Security::StartTls(tls) => {
                let mut connection = self.plain(&hello).await?;
                connection.starttls(tls.clone(), &hello).await.map_err(failed)?;
                connection
            }
        };
        if let Some(user) = &self.user {
            connection.auth(&[Mechanism::Plain], user).await.map_err(failed)?;
        }
        Ok(connection)
    }

    async fn plain(&self, hello: &ClientId) -> Result<AsyncSmtpConnection, Unsent> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.map_err(|error| self.unusable(error))?;
        let stream: Box<dyn client::AsyncTokioStream> = Box::new(SlowStream::new(stream));
        let connection = AsyncSmtpConnection::connect_with_transport(stream, hello).await;
        connection.map_err(|error| self.unusable(reason(&error)))
    }

    fn unusable(&self, why: impl Display) -> Unsent {
        Unsent::Failed(format!("Cannot send through the mail server {}: {why}.", self.host))
    }
}

impl Security {
    fn new(scheme: &str, host: &str) -> Result<Security, String> {
        let tls = || {
            let tls = TlsParameters::new_rustls(host.to_owned());
            tls.map_err(|error| format!("Cannot set up TLS: {error}."))
        };
        Ok(match scheme {
            "smtps" => Security::Tls(tls()?),
            "smtp+starttls" => Security::StartTls(tls()?),
            _ => Security::None,
        })
    }
}

/// The response of the server, such as `552 Message too large`, or another cause.
fn reason(error: &Error) -> String {
    match (error.status(), error.source()) {
        (Some(code), Some(text)) => format!("{code} {text}"),
        _ => error.to_string(),
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Omits the password.
        f.debug_struct("Server").field("host", &self.host).field("port", &self.port).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_determine_host_port_and_tls() {
        for (address, expected) in [
            ("smtps://a.example", ("a.example", 465, "tls")),
            ("smtp+starttls://a.example", ("a.example", 587, "starttls")),
            ("smtp://127.0.0.1:2525/", ("127.0.0.1", 2525, "none")),
            ("smtp://[::1]", ("::1", 25, "none")),
            ("smtp://[::1]:26", ("::1", 26, "none")),
        ] {
            let server = Server::new(address, None).unwrap();
            let security = match &server.security {
                Security::None => "none",
                Security::StartTls(_) => "starttls",
                Security::Tls(_) => "tls",
            };
            assert_eq!((server.host.as_str(), server.port, security), expected);
        }
        for address in ["a.example", "http://a.example", "smtp://", "smtp://u@a", "smtp://a:b"] {
            assert!(Server::new(address, None).is_err(), "{address}");
        }
        let user = Some(("u".to_owned(), "p".to_owned()));
        let error = Server::new("smtp://a.example", user).unwrap_err();
        assert!(error.contains("a password is only sent over TLS"), "{error}");
    }
}
