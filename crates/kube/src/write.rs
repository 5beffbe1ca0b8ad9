//! Writes of what differs: an object that was read is compared with what is wanted, and a merge patch is sent only if there is a
//! difference. A write that would change nothing is never sent.

use assisted_crd::patch::merge;
use kube::api::{Patch, PatchParams};
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// Which writes of others a patch may lie over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The patch is refused (409) if somebody has changed the object since it was read.
    Version,
    /// The patch is applied to whatever the object is by then; for fields that nobody else writes.
    Free,
}

/// What of an object a write is about.
#[derive(Clone, Copy)]
enum Part {
    Object,
    Status,
}

/// Sends what differs in metadata and spec: the object as it is then, `None` when there is nothing to write.
///
/// # Errors
/// The API server's.
pub async fn object<K>(api: &Api<K>, before: &K, after: &K, guard: Guard) -> Result<Option<K>, kube::Error>
where
    K: Resource + Serialize + DeserializeOwned + Clone + Debug,
{
    send(api, before, after, guard, Part::Object).await
}

/// The same for the status, which an API server takes only by itself.
///
/// # Errors
/// The API server's.
pub async fn status<K>(api: &Api<K>, before: &K, after: &K, guard: Guard) -> Result<Option<K>, kube::Error>
where
    K: Resource + Serialize + DeserializeOwned + Clone + Debug,
{
    send(api, before, after, guard, Part::Status).await
}

async fn send<K>(
    api: &Api<K>,
    before: &K,
    after: &K,
    guard: Guard,
    part: Part,
) -> Result<Option<K>, kube::Error>
where
    K: Resource + Serialize + DeserializeOwned + Clone + Debug,
{
    let version = before.meta().resource_version.as_deref().filter(|_| guard == Guard::Version);
    let Some(patch) = merge(before, after, version).map_err(kube::Error::SerdeError)? else {
        return Ok(None);
    };
    let name = before.meta().name.as_deref().unwrap_or_default();
    let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
    let written = match part {
        Part::Object => api.patch(name, &params, &patch).await,
        Part::Status => api.patch_status(name, &params, &patch).await,
    };
    written.map(Some)
}
