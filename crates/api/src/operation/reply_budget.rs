//! A host that has told too much is held back before what it tells is read.

use std::time::Duration;

use http::HeaderMap;
use hyper::body::Incoming;
use tokio::time::sleep;

use super::call::Call;
use crate::Timeouts;
use crate::error::ApiError;
use crate::http::body;

/// How long nothing of what such a host sends is taken: it can't send on meanwhile, and no faster afterwards.
const PAUSE: Duration = Duration::from_secs(1);

/// Returns after a pause, when the host may be read, or refuses it.
pub(super) async fn hold_back(
    call: &Call<'_>,
    headers: &HeaderMap,
    body: &mut Incoming,
    timeouts: &Timeouts,
) -> Result<(), ApiError> {
    sleep(PAUSE).await;
    let refused = ensure(call);
    if refused.is_err() {
        body::discard(headers, body, timeouts).await;
    }
    refused
}

/// Refuses a host that has told too much for now.
pub(super) fn ensure(call: &Call<'_>) -> Result<(), ApiError> {
    Ok(call.service.hosts().ensure_reply_budget(call.host()?)?)
}
