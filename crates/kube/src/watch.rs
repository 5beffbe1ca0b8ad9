//! One watch: keeps the copy of a kind, and tells what changed.

use std::convert::Infallible;
use std::fmt::Debug;
use std::pin::Pin;
use std::time::Duration;

use assisted_base::retry::{Backoff, Jitter};
use futures::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{Lookup, ObjectRef};
use kube::runtime::watcher as watch_objects;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::sleep;

use crate::raw::Raw;

/// Between a failure of a watch and the next attempt.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(800), longest: Duration::from_secs(30), jitter: Jitter::Half };

/// What is watched: whole objects, or their metadata alone. Both are watched as [`Raw`] and typed afterwards, so that the code of a
/// watch stands in this crate once, and not once for each kind that is watched.
enum Watched {
    Objects(Api<Raw<false>>),
    Metadata(Api<Raw<true>>),
}

impl Watched {
    fn new<K: Resource>(api: Api<K>) -> Self {
        if K::metadata_api() { Self::Metadata(Raw::api(api)) } else { Self::Objects(Raw::api(api)) }
    }

    fn place(&self) -> &str {
        match self {
            Self::Objects(api) => api.resource_url(),
            Self::Metadata(api) => api.resource_url(),
        }
    }

    fn begin(&self, config: watcher::Config) -> BoxStream<'static, Result<Event<Value>, watcher::Error>> {
        match self {
            Self::Objects(api) => values(api, config),
            Self::Metadata(api) => values(api, config),
        }
    }
}

fn values<const METADATA: bool>(
    api: &Api<Raw<METADATA>>,
    config: watcher::Config,
) -> BoxStream<'static, Result<Event<Value>, watcher::Error>> {
    watch_objects(api.clone(), config).map_ok(|event| converted(event, |raw| raw.object)).boxed()
}

/// The event with its object as `convert` makes it.
pub fn converted<A, B>(event: Event<A>, convert: impl FnOnce(A) -> B) -> Event<B> {
    let Ok(event) = try_converted(event, |object| Ok::<_, Infallible>(convert(object)));
    event
}

fn try_converted<A, B, E>(event: Event<A>, convert: impl FnOnce(A) -> Result<B, E>) -> Result<Event<B>, E> {
    Ok(match event {
        Event::Apply(object) => Event::Apply(convert(object)?),
        Event::InitApply(object) => Event::InitApply(convert(object)?),
        Event::Delete(object) => Event::Delete(convert(object)?),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    })
}

/// What happens to the objects of a kind, without end. After a failure the watch is taken up again, later each time: the pauses of
/// [`kube::runtime`] begin anew with each attempt to list, and one that is refused would be made every second. An object that can't
/// be read is such a failure too: without it nobody knows what there is, and the list is asked for once more.
pub fn events<K>(api: Api<K>, config: watcher::Config) -> Pin<Box<dyn Stream<Item = Event<K>> + Send>>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let watched = Watched::new(api);
    let begun = watched.begin(config.clone());
    stream::unfold((watched, config, begun, 0_u32), |(watched, config, mut begun, mut failures)| async move {
        loop {
            let error = match begun.next().await? {
                Ok(event) => match try_converted(event, serde_json::from_value) {
                    Ok(event) => {
                        // A list may break off at each of its objects.
                        if !matches!(event, Event::Init | Event::InitApply(_)) {
                            failures = 0;
                        }
                        return Some((event, (watched, config, begun, failures)));
                    }
                    Err(error) => {
                        begun = watched.begin(config.clone());
                        assisted_base::error::chain(&error)
                    }
                },
                Err(error) => assisted_base::error::chain(&error),
            };
            tracing::warn!(place = watched.place(), error = %error, "a watch is interrupted");
            failures = failures.saturating_add(1);
            sleep(BACKOFF.pause(failures)).await;
        }
    })
    .boxed()
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
