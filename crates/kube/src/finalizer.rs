//! Finalizers: names that keep an object that is being deleted until its keeper is done. They are set in an object that was read;
//! [`crate::write`] sends what differs.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Whether the object is being deleted.
pub fn is_deleting(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_some()
}

/// Whether the finalizer is there.
pub fn has(metadata: &ObjectMeta, finalizer: &str) -> bool {
    metadata.finalizers.iter().flatten().any(|name| name == finalizer)
}

/// Adds the finalizer; whether it was missing.
pub fn add(metadata: &mut ObjectMeta, finalizer: &str) -> bool {
    let missing = !has(metadata, finalizer);
    if missing {
        metadata.finalizers.get_or_insert_default().push(finalizer.to_owned());
    }
    missing
}

/// Removes the finalizer; whether it was there.
pub fn remove(metadata: &mut ObjectMeta, finalizer: &str) -> bool {
    let had = has(metadata, finalizer);
    if let Some(finalizers) = metadata.finalizers.as_mut().filter(|_| had) {
        finalizers.retain(|name| name != finalizer);
    }
    had
}
