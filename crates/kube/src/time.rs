//! Times in objects, which have whole seconds.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// The present time.
pub fn now() -> Time {
    whole_seconds(Timestamp::now())
}

/// A time.
pub fn whole_seconds(at: Timestamp) -> Time {
    Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
}
