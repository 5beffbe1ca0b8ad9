//! Objects in a cluster that are ours.

use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::Value;

/// Who these objects are applied by.
const MANAGER: &str = "assisted-service";

/// Makes an object, or changes what of it differs.
///
/// # Errors
/// The API server's.
pub(super) async fn apply<K>(api: &Api<K>, name: &str, object: Value) -> Result<(), kube::Error>
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    let params = PatchParams::apply(MANAGER).force();
    api.patch(name, &params, &Patch::Apply(object)).await.map(drop)
}
