//! Webhooks that a model names: events are posted, signed, until they are taken.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use keyloom::Clock;
use keyloom::events::{Deliver, Delivery, Failure};

use crate::{HttpClient, HttpRequest, WebhookSecret};

/// Posts events to the addresses that a model names.
#[derive(Debug)]
pub struct Webhooks {
    /// What posts.
    pub post: HttpClient,
    /// What receivers know them by.
    pub secret: WebhookSecret,
    /// When they are signed.
    pub clock: Arc<dyn Clock>,
}

impl Deliver for Webhooks {
    fn deliver(
        &self,
        delivery: Delivery,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(async move {
            let Delivery { address, key, body, .. } = delivery;
            let secs = self.clock.now().0 / 1000;
            let mut headers = self.secret.headers(&key, secs, body.as_bytes());
            headers.push(("idempotency-key".to_owned(), key));
            let request =
                HttpRequest { address: address.clone(), headers, body: body.into_bytes() };
            let response =
                self.post.post(request).await.map_err(|error| match error.is_lasting {
                    true => Failure::fatal(error.message),
                    false => Failure::new(error.message),
                })?;
            let told = format!("`{address}` answered {}.", response.status);
            match (response.is_success(), response.is_refused()) {
                (true, _) => Ok(()),
                (false, true) => Err(Failure::fatal(told)),
                (false, false) => Err(Failure::new(told)),
            }
        })
    }
}
