//! Webhooks of a model: events are sent to them, signed. The event queue retries failed deliveries.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use keyloom::Clock;
use keyloom::events::{Deliver, Delivery, Failure};

use crate::{HttpClient, HttpRequest, WebhookSecret};

/// Sends events to the webhooks that a model declares.
#[derive(Debug)]
pub struct Webhooks {
    /// Sends the requests.
    pub client: HttpClient,
    /// Signs them.
    pub secret: WebhookSecret,
    /// The time of signatures.
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
                self.client.post(request).await.map_err(|error| match error.is_permanent {
                    true => Failure::fatal(error.message),
                    false => Failure::new(error.message),
                })?;
            let message = format!("`{address}` answered {}.", response.status);
            match (response.is_success(), response.is_refused()) {
                (true, _) => Ok(()),
                (false, true) => Err(Failure::fatal(message)),
                (false, false) => Err(Failure::new(message)),
            }
        })
    }
}
