//! One watch: keeps the copy of a kind, and tells what changed.

use std::fmt::Debug;
use std::pin::Pin;
use std::time::Duration;

use assisted_base::retry::{Backoff, Jitter};
use futures::stream::{self, Stream, StreamExt};
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{Lookup, ObjectRef};
use kube::runtime::watcher as watch_objects;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::time::sleep;

/// Between a failure of a watch and the next attempt.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(800), longest: Duration::from_secs(30), jitter: Jitter::Half };

/// What happens to the objects of a kind, without end. After a failure the watch is taken up again, later each time: the pauses of
/// [`kube::runtime`] begin anew with each attempt to list, and one that is refused would be made every second.
pub fn events<K>(api: Api<K>, config: watcher::Config) -> Pin<Box<dyn Stream<Item = Event<K>> + Send>>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let place = api.resource_url().to_owned();
    let watched = Box::pin(watch_objects(api, config));
    let told = stream::unfold((watched, place, 0_u32), |(mut watched, place, mut failures)| async move {
        loop {
            match watched.next().await? {
                Ok(event) => {
                    if !matches!(event, Event::Init) {
                        failures = 0;
                    }
                    return Some((event, (watched, place, failures)));
                }
                Err(error) => {
                    tracing::warn!(place, error = %assisted_base::error::chain(&error), "a watch is interrupted");
                    failures = failures.saturating_add(1);
                    sleep(BACKOFF.pause(failures)).await;
                }
            }
        }
    });
    told.boxed()
}

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
    let mut events = events(api, config);
    let mut before = Vec::new();
    while let Some(event) = events.next().await {
        // Who wrote which field is of no use here, and takes the most of an object.
        let event = event.modify(|object| object.meta_mut().managed_fields = None);
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hyper::{Request, Response};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Client;
    use kube::client::Body;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_refused_is_tried_less_and_less() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let refused = tower::service_fn(move |_: Request<Body>| {
            counted.fetch_add(1, Ordering::Relaxed);
            let status = r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "no", "reason": "Forbidden", "code": 403}"#;
            let answer = Response::builder().status(403).body(Body::from(status.as_bytes().to_vec()));
            async { Ok::<_, Infallible>(answer.unwrap()) }
        });
        let api: Api<ConfigMap> = Api::all(Client::new(refused, "default"));
        let mut told = events(api, watcher::Config::default());
        let ten_minutes = Duration::from_secs(600);
        let listened = async { while told.next().await.is_some_and(|event| matches!(event, Event::Init)) {} };
        assert!(tokio::time::timeout(ten_minutes, listened).await.is_err(), "nothing else is told");
        let asked = asked.load(Ordering::Relaxed);
        assert!((15..70).contains(&asked), "{asked} attempts within {ten_minutes:?}");
    }
}
