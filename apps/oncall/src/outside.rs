//! The ways out: webhooks and the provider over HTTP, mail over SMTP.

mod carriers;
mod mail;
mod slow_stream;
mod smtp;

pub(crate) use carriers::{Carriers, Provider};
pub(crate) use mail::{Mail, MailOptions};
