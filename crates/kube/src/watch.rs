//! One watch: keeps the copy of a kind, and tells what changed.

use std::fmt::Debug;

use futures::StreamExt;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{Lookup, ObjectRef};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch_objects};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

/// Follows a kind for ever: every change is in the copy before `changed` hears of it, with the object as it was and as it is.
/// What was deleted while the watch was interrupted is told when it is taken up again.
pub async fn follow<K>(
    api: Api<K>,
    config: watcher::Config,
    mut writer: Writer<K>,
    changed: impl Fn(Option<&K>, Option<&K>),
) where
    K: Resource<DynamicType = ()>
        + Lookup<DynamicType = ()>
        + Clone
        + DeserializeOwned
        + Debug
        + Send
        + Sync
        + 'static,
{
    let store = writer.as_reader();
    let mut events = std::pin::pin!(watch_objects(api, config).default_backoff());
    let mut before = Vec::new();
    while let Some(event) = events.next().await {
        // Who wrote which field is of no use here, and takes the most of an object.
        let event = match event {
            Ok(event) => event.modify(|object| object.meta_mut().managed_fields = None),
            Err(error) => {
                let kind = <K as Resource>::kind(&());
                tracing::warn!(%kind, error = %assisted_base::error::chain(&error), "a watch is interrupted");
                continue;
            }
        };
        match &event {
            Event::Init => {
                before = store.state();
                writer.apply_watcher_event(&event);
            }
            Event::InitApply(_) => writer.apply_watcher_event(&event),
            Event::InitDone => {
                writer.apply_watcher_event(&event);
                for old in std::mem::take(&mut before) {
                    if store.get(&ObjectRef::from_obj(&*old)).is_none() {
                        changed(Some(&old), None);
                    }
                }
                for object in store.state() {
                    changed(None, Some(&object));
                }
            }
            Event::Apply(object) => {
                let old = store.get(&ObjectRef::from_obj(object));
                writer.apply_watcher_event(&event);
                changed(old.as_deref(), Some(object));
            }
            Event::Delete(object) => {
                writer.apply_watcher_event(&event);
                changed(Some(object), None);
            }
        }
    }
}
