//! The mail server over real connections, with the service's own mail client and with hostile clients.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

use keyloom::SystemClock;

use super::super::mail_text::MailText;
use super::*;
use crate::outbound::{Mail, MailOptions};
use crate::rows::Kind;
use crate::transport::Message;

const DEADLINE: Duration = Duration::from_secs(60);

/// Forwards every mail to a channel.
struct Forward(Mutex<Sender<(String, Vec<u8>)>>);

impl MailHandler for Forward {
    fn handle(&self, to: &str, data: &[u8]) -> Result<(), TooLarge> {
        self.0.lock().unwrap().send((to.to_owned(), data.to_vec())).unwrap();
        Ok(())
    }
}

fn start() -> (MailServer, Receiver<(String, Vec<u8>)>) {
    let (sender, mails) = channel();
    (MailServer::start(Arc::new(Forward(Mutex::new(sender)))).unwrap(), mails)
}

/// Sends a mail as the service does.
fn send(server: &MailServer, text: &str) -> Result<(), String> {
    let options = MailOptions {
        server: server.url(),
        user: None,
        from: "On call <oncall@example.com>".to_owned(),
        clock: Arc::new(SystemClock),
    };
    let message = Message {
        key: "s.0.m".to_owned(),
        kind: Kind::Email,
        to: "ada@example.com".to_owned(),
        subject: "Überlauf in „checkout“, und zwar schon seit heute morgen um acht".to_owned(),
        text: text.to_owned(),
        answer_url: String::new(),
        reply_url: String::new(),
        search: String::new(),
        domain: String::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let sent = runtime.block_on(Mail::new(options).unwrap().send(message));
    sent.map(drop).map_err(|failure| format!("{failure:?}"))
}

#[test]
fn mail_of_the_service_arrives_unchanged() {
    let (server, mails) = start();
    for text in ["a\nb", ".\n..\n.c", "ü\n\n\nö", "", &"long ".repeat(5_000), "a: b\n\n c"] {
        send(&server, text).unwrap();
        let (to, data) = mails.recv_timeout(DEADLINE).unwrap();
        let read = MailText::read(&data);
        assert_eq!((to.as_str(), read.id.as_str()), ("ada@example.com", "s.0.m"));
        assert_eq!(read.text, text.trim_end());
        assert!(read.subject.ends_with("um acht") && read.subject.starts_with("Überlauf"));
    }
}

#[test]
fn mail_that_is_too_large_is_permanently_refused() {
    let (server, mails) = start();
    let refused = send(&server, &"x\n".repeat(MESSAGE_BYTES_MAX)).unwrap_err();
    assert!(refused.contains("552 Message too large"), "{refused}");
    assert!(mails.try_recv().is_err());
    send(&server, "small").unwrap();
    assert!(mails.recv_timeout(DEADLINE).is_ok());
}

/// Sends bytes and returns everything until the server closes the connection.
fn exchange(server: &MailServer, sent: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    // The server may close before everything is sent.
    let _ = stream.write_all(sent);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut received = vec![];
    let _ = stream.read_to_end(&mut received);
    String::from_utf8(received).unwrap()
}

#[test]
fn the_server_survives_any_input() {
    let (server, mails) = start();
    let long = [b'x'; COMMAND_BYTES_MAX + 10];
    let many = "NOOP\r\n".repeat(COMMANDS_MAX + 1);
    let mail = "MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\n";
    for (sent, last) in [
        (&b""[..], "220 receiver.localhost ESMTP"),
        (b"\r\n", "502 Command not implemented"),
        (b"\0\xff\xfe\r\n", "502 Command not implemented"),
        (b"GET / HTTP/1.1\r\n", "502 Command not implemented"),
        (b"QUIT now\r\nNOOP\r\n", "221 Bye"),
        (b"DATA\r\n", "503 RCPT first"),
        (b"RCPT TO:<a@b>\r\n", "503 MAIL first"),
        (b"MAIL FROM:<>\r\nRCPT TO:\r\n", "501 Syntax: RCPT TO:<name@host>"),
        (b"MAIL FROM:<>\r\nRCPT TO:<\xff\r\n", "501 Syntax: RCPT TO:<name@host>"),
        (b"mail from:<>\r\nrcpt to:<a@b>\r\nRcpt To:<c@d>\r\n", "452 Too many recipients"),
        (format!("{mail}RSET\r\nDATA\r\n").as_bytes(), "503 RCPT first"),
        (format!("{mail}DATA\r\nno end").as_bytes(), "354 End data with <CR><LF>.<CR><LF>"),
        (format!("{mail}DATA\r\nno end\n.\n").as_bytes(), "354 End data with <CR><LF>.<CR><LF>"),
        (&long, "500 Line too long"),
        (many.as_bytes(), "421 Too many commands"),
    ] {
        let received = exchange(&server, sent);
        assert_eq!(received.lines().last(), Some(last), "{}", String::from_utf8_lossy(sent));
    }
    assert!(mails.try_recv().is_err(), "none of it was a mail");
    send(&server, "fine").unwrap();
    assert!(mails.recv_timeout(DEADLINE).is_ok());
}

#[test]
fn a_mail_without_end_is_cut_off() {
    let (server, mails) = start();
    let mut sent = b"MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\n".to_vec();
    sent.resize(sent.len() + DATA_BYTES_MAX + (1 << 20), b'x');
    assert!(exchange(&server, &sent).contains("354"));
    assert!(mails.try_recv().is_err());
}

#[test]
fn connections_are_limited_and_released() {
    let (server, mails) = start();
    let greeting = |stream: &TcpStream| {
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line
    };
    let connect = || TcpStream::connect(server.address).unwrap();
    let mut open: Vec<TcpStream> = (0..CONNECTIONS_MAX).map(|_| connect()).collect();
    assert!(open.iter().all(|stream| greeting(stream).starts_with("220")));
    assert!(greeting(&connect()).starts_with("421"));
    open.clear();
    // The server notices asynchronously that the others have closed.
    let deadline = Instant::now() + DEADLINE;
    while send(&server, "fine").is_err() {
        assert!(Instant::now() < deadline);
    }
    assert!(mails.recv_timeout(DEADLINE).is_ok());
}

#[test]
fn a_dropped_server_stops_listening() {
    let (server, mails) = start();
    let address = server.address;
    drop(server);
    // The thread owns the sender: the channel closes when it ends.
    assert_eq!(mails.recv_timeout(DEADLINE), Err(RecvTimeoutError::Disconnected));
    let deadline = Instant::now() + DEADLINE;
    while TcpStream::connect(address).is_ok() {
        assert!(Instant::now() < deadline);
    }
}
