//! The HTTP client, the limits and the metrics that the downloads of all base images share.

use assisted_isokit::pxe::Thresholds;
use tokio::sync::Semaphore;

use super::fetch::Fetcher;
use crate::metrics::Metrics;

/// What the downloads of all base images share.
#[derive(Debug)]
pub(super) struct FetchContext {
    pub fetcher: Fetcher,
    pub slots: Semaphore,
    pub eager: bool,
    pub least: Thresholds,
    pub metrics: Metrics,
}
