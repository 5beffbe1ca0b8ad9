//! Writes of what differs: an object that was read is compared with what is wanted, and a merge patch is sent only if there is a
//! difference. A write that would change nothing is never sent.

use assisted_crd::patch::merge;
use kube::api::{Patch, PatchParams};
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Debug;

use crate::error::is_conflict;

/// How often a status is worked out anew, at most, before somebody else's write is told as a conflict.
const TRIES: u32 = 5;

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

/// Changes the status, which an API server takes only by itself: the object as it is then.
///
/// What is shown follows from what was shown before, the times of conditions above all, and a list is written as a whole. So the status
/// is written over the version that it was worked out from: where somebody has written the object since, which a cache may not tell of
/// yet, it is read and its status worked out anew.
///
/// # Errors
/// The API server's; the conflict (409) where others write without end, or the object was replaced by another of its name.
pub async fn status<K>(api: &Api<K>, object: &K, change: impl Fn(&mut K)) -> Result<K, kube::Error>
where
    K: Resource + Serialize + DeserializeOwned + Clone + Debug,
{
    let mut before = object.clone();
    let mut tries = 1;
    loop {
        let mut after = before.clone();
        change(&mut after);
        match send(api, &before, &after, Guard::Version, Part::Status).await {
            Err(conflict) if tries < TRIES && is_conflict(&conflict) => {
                // A patch of nothing answers with the object, by the right to write its status: what is watched may not be read
                // alone.
                let (name, nothing) = (object.meta().name.as_deref().unwrap_or_default(), json!({}));
                before = api.patch_status(name, &PatchParams::default(), &Patch::Merge(nothing)).await?;
                if before.meta().uid != object.meta().uid {
                    return Err(conflict);
                }
                // What is shown follows from the generation that was looked at.
                before.meta_mut().generation = object.meta().generation;
                tries += 1;
            }
            written => return Ok(written?.unwrap_or(before)),
        }
    }
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
