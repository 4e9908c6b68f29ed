//! The ways out: webhooks and the provider over HTTP, mail over SMTP.

mod carriers;
mod mail;
mod smtp;

pub use carriers::{Carriers, Provider};
pub use mail::{Mail, MailOptions};
