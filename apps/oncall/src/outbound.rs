//! Outbound messages: webhooks and the provider over HTTP, mail over SMTP.

mod mail;
mod slow_stream;
mod smtp;
mod transports;

pub(crate) use mail::{Mail, MailOptions};
pub(crate) use transports::{Provider, Transports};
