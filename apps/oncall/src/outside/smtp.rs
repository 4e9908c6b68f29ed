//! A conversation with a mail server, by lettre: one connection for one mail, with TLS from the start,
//! after `STARTTLS` or not at all, within a time.

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

/// How long one mail may take, until it is taken.
const TIME: Duration = Duration::from_secs(30);
/// How long to wait for a goodbye.
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
    /// The server will never take it.
    Refused(String),
    /// It may, later.
    Failed(String),
}

impl Server {
    /// The server of an address: `smtps://host`, `smtp+starttls://host`, `smtp://host`.
    pub(super) fn new(address: &str, user: Option<(String, String)>) -> Result<Server, String> {
        let unfit = |why: &str| {
            format!(
                "`{address}` is no mail server: {why}. Write `smtps://host`, \
                 `smtp+starttls://host` or, without TLS, `smtp://host:25`."
            )
        };
        let (scheme, place) = address.split_once("://").ok_or_else(|| unfit("it is no URL"))?;
        let usual = match scheme {
            "smtps" => 465,
            "smtp+starttls" => 587,
            "smtp" => 25,
            _ => return Err(unfit("it begins with none of these")),
        };
        let place = place.trim_end_matches('/');
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| unfit("its port is none"))?)
            }
            Some(_) | None => (place, usual),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() || host.contains(['@', '/']) {
            return Err(unfit("it names no host"));
        }
        let security = Security::of(scheme, &host)?;
        if user.is_some() && matches!(security, Security::None) {
            return Err(unfit("a password is only sent over TLS"));
        }
        Ok(Server { host, port, security, user: user.map(Credentials::from) })
    }

    /// Sends a mail.
    pub(super) async fn send(&self, mail: &Message) -> Result<(), Unsent> {
        let sent = timeout(TIME, self.exchange(mail)).await;
        let mut talk = sent.map_err(|_| self.unusable("it did not answer in time"))??;
        // The mail is taken, whatever comes of saying goodbye.
        let _ = timeout(QUIT_TIME, talk.quit()).await;
        Ok(())
    }

    async fn exchange(&self, mail: &Message) -> Result<AsyncSmtpConnection, Unsent> {
        let mut talk = self.greeted().await?;
        match talk.send(mail.envelope(), &mail.formatted()).await {
            Ok(_) => Ok(talk),
            Err(error) if error.is_permanent() => {
                Err(Unsent::Refused(format!("The mail server refused it: {}.", said(&error))))
            }
            Err(error) if error.is_transient() => {
                Err(Unsent::Failed(format!("The mail server did not take it: {}.", said(&error))))
            }
            Err(error) => Err(self.unusable(error)),
        }
    }

    /// A connection on which mail can be sent. What a server refuses before that is not the mail's
    /// fault.
    async fn greeted(&self) -> Result<AsyncSmtpConnection, Unsent> {
        let failed = |error: Error| self.unusable(said(&error));
        let hello = ClientId::Domain("keyloom".to_owned());
        let mut talk = match &self.security {
            Security::Tls(tls) => {
                let (place, tls) = ((self.host.as_str(), self.port), Some(tls.clone()));
                AsyncSmtpConnection::connect_tokio1(place, None, &hello, tls, None)
                    .await
                    .map_err(failed)?
            }
            Security::None => self.plain(&hello).await?,
            Security::StartTls(tls) => {
                let mut talk = self.plain(&hello).await?;
                talk.starttls(tls.clone(), &hello).await.map_err(failed)?;
                talk
            }
        };
        if let Some(user) = &self.user {
            talk.auth(&[Mechanism::Plain], user).await.map_err(failed)?;
        }
        Ok(talk)
    }

    async fn plain(&self, hello: &ClientId) -> Result<AsyncSmtpConnection, Unsent> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.map_err(|error| self.unusable(error))?;
        let stream: Box<dyn client::AsyncTokioStream> = Box::new(SlowStream::new(stream));
        let talk = AsyncSmtpConnection::connect_with_transport(stream, hello).await;
        talk.map_err(|error| self.unusable(said(&error)))
    }

    fn unusable(&self, why: impl Display) -> Unsent {
        Unsent::Failed(format!("The mail server {} cannot be used: {why}.", self.host))
    }
}

impl Security {
    fn of(scheme: &str, host: &str) -> Result<Security, String> {
        let tls = || {
            let tls = TlsParameters::new_rustls(host.to_owned());
            tls.map_err(|error| format!("TLS cannot be used: {error}."))
        };
        Ok(match scheme {
            "smtps" => Security::Tls(tls()?),
            "smtp+starttls" => Security::StartTls(tls()?),
            _ => Security::None,
        })
    }
}

/// What the server said, such as `552 Message too large`, or what went wrong.
fn said(error: &Error) -> String {
    match (error.status(), error.source()) {
        (Some(code), Some(text)) => format!("{code} {text}"),
        _ => error.to_string(),
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the password.
        f.debug_struct("Server").field("host", &self.host).field("port", &self.port).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_how_a_server_is_spoken_to() {
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
