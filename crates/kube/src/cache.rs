//! Copies of objects that watches keep ([`crate::watch`]).

use std::sync::Arc;

use assisted_core::model::object_key::ObjectKey;
use kube::Resource;
use kube::runtime::reflector::{Lookup, ObjectRef, Store};

/// An object of the copy.
pub fn get<K>(store: &Store<K>, key: &ObjectKey) -> Option<Arc<K>>
where
    K: Lookup<DynamicType = ()> + Clone + 'static,
{
    store.get(&ObjectRef::new(&key.name).within(&key.namespace))
}

/// Namespace and name of an object.
pub fn key<K: Resource>(object: &K) -> ObjectKey {
    let metadata = object.meta();
    ObjectKey::new(metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}
