//! Lists of which no more is held than a part: the first is answered as any body where there is no other, else the next is read and
//! written when the one before it is sent.

use std::future::Future;

use assisted_service::Error;
use assisted_service::event::ListEvents;
use assisted_wire::cluster::ClusterList;
use assisted_wire::event::Event;
use assisted_wire::host::HostList;
use futures::stream;
use http::{HeaderName, HeaderValue, StatusCode};

use super::call::Call;
use super::query;
use super::redact::Redact;
use crate::error::ApiError;
use crate::http::response::{Answer, list_answer, long_json_answer};

/// Clusters of a part: a record has some kilobytes.
const CLUSTERS: usize = 500;
/// Clusters of a part with their hosts, each of which has reported a hundred kilobytes.
const WITH_HOSTS: usize = 20;
/// Hosts of a part.
const HOSTS: usize = 100;
/// Events of a part, and of a page where the caller does not say how many.
const EVENTS: u64 = 5000;

/// The clusters that a caller may see.
pub(super) async fn clusters(call: &Call<'_>) -> Result<Answer, ApiError> {
    let query = query::list_clusters(&call.params);
    let found = call.service.clusters().find(&call.caller, &query).await?;
    let at_once = if query.with_hosts { WITH_HOSTS } else { CLUSTERS };
    let (service, caller) = (call.service.clone(), call.caller.clone());
    let read = move |part: Vec<_>| {
        let (service, caller, query) = (service.clone(), caller.clone(), query.clone());
        async move {
            let clusters = service.clusters().list_part(&part, &query).await?;
            Ok::<_, Error>(ClusterList(clusters).for_caller(&caller).0)
        }
    };
    in_parts(call.status(), found, at_once, read).await
}

/// The hosts of an infra-env.
pub(super) async fn hosts(call: &Call<'_>) -> Result<Answer, ApiError> {
    let id = call.infra_env_id()?;
    let found = call.service.hosts().find(&call.caller, id).await?;
    let (service, caller) = (call.service.clone(), call.caller.clone());
    let read = move |part| {
        let (service, caller) = (service.clone(), caller.clone());
        async move {
            let hosts = service.hosts().list_part(id, part).await?;
            Ok::<_, Error>(HostList(hosts).for_caller(&caller).0)
        }
    };
    in_parts(call.status(), found, HOSTS, read).await
}

/// What was found, read and written so much at once.
async fn in_parts<K, T, F>(
    status: StatusCode,
    mut found: Vec<K>,
    at_once: usize,
    read: impl Fn(Vec<K>) -> F + Send + 'static,
) -> Result<Answer, ApiError>
where
    K: Send + 'static,
    T: serde::Serialize + Send + 'static,
    F: Future<Output = Result<Vec<T>, Error>> + Send + 'static,
{
    let mut later = found.split_off(at_once.min(found.len()));
    let first = Box::pin(read(found)).await?;
    if later.is_empty() {
        return Ok(long_json_answer(status, first).await);
    }
    // The next ones stand at the end.
    later.reverse();
    let parts = stream::try_unfold((later, read), move |(mut later, read)| async move {
        if later.is_empty() {
            return Ok::<_, ApiError>(None);
        }
        let mut part = later.split_off(later.len().saturating_sub(at_once));
        part.reverse();
        let part = Box::pin(read(part)).await?;
        Ok(Some((part, (later, read))))
    });
    Ok(list_answer(status, first, parts))
}

/// Where the next part of the events begins.
#[derive(Clone, Copy)]
struct Next {
    offset: u64,
    /// How many are still wanted; `None`: all.
    left: Option<u64>,
    /// Events when the part before it was read.
    total: u64,
}

/// A page of events. The counts travel in headers (service-api §11.2).
pub(super) async fn events(call: &Call<'_>) -> Result<Answer, ApiError> {
    let query = query::list_events(&call.params);
    let left = query.limit.map_or(Some(EVENTS), |limit| u64::try_from(limit).ok());
    let offset = query.offset.and_then(|offset| u64::try_from(offset).ok()).unwrap_or_default();
    let next = Next { offset, left, total: 0 };
    let page = call.service.events().list(&call.caller, page_of(&query, next)).await?;
    let read = page.events.0.len() as u64;
    let next = next.after(read, read, page.total);
    let mut answer = if next.is_last(read) {
        long_json_answer(call.status(), page.events).await
    } else {
        let (service, caller) = (call.service.clone(), call.caller.clone());
        let parts = stream::try_unfold(Some(next), move |next| {
            let (service, caller, query) = (service.clone(), caller.clone(), query.clone());
            async move {
                let Some(next) = next else { return Ok::<_, ApiError>(None) };
                let page = Box::pin(service.events().list(&caller, page_of(&query, next))).await?;
                let mut events: Vec<Event> = page.events.0;
                let read = events.len() as u64;
                if query.descending {
                    // Those that came meanwhile moved what was sent already into this page.
                    let sent = usize::try_from(page.total.saturating_sub(next.total)).unwrap_or(usize::MAX);
                    events.drain(..sent.min(events.len()));
                }
                let next = next.after(read, events.len() as u64, page.total);
                Ok(Some((events, (!next.is_last(read)).then_some(next))))
            }
        });
        list_answer(call.status(), page.events.0, parts)
    };
    for (name, count) in [
        (HeaderName::from_static("severity-count-info"), page.info),
        (HeaderName::from_static("severity-count-warning"), page.warning),
        (HeaderName::from_static("severity-count-error"), page.error),
        (HeaderName::from_static("severity-count-critical"), page.critical),
        (HeaderName::from_static("event-count"), page.total),
    ] {
        answer.headers_mut().insert(name, HeaderValue::from(count));
    }
    Ok(answer)
}

impl Next {
    /// After so many were read, of which some were new.
    fn after(self, read: u64, new: u64, total: u64) -> Self {
        let left = self.left.map(|left| left.saturating_sub(new));
        Self { offset: self.offset.saturating_add(read), left, total }
    }

    /// Whether nothing comes after a part of so many.
    fn is_last(self, read: u64) -> bool {
        read < EVENTS || self.left == Some(0)
    }
}

/// The part of a page that begins there.
fn page_of(query: &ListEvents, next: Next) -> ListEvents {
    let whole = |number: u64| Some(i64::try_from(number).unwrap_or(i64::MAX));
    let limit = whole(next.left.map_or(EVENTS, |left| left.min(EVENTS)));
    ListEvents { limit, offset: whole(next.offset), ..query.clone() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use assisted_core::model::refusal::Refusal;
    use http_body_util::{BodyExt, Either};

    use super::*;

    /// The body of a list of so many numbers, four at once; whether it came as a whole, and how many parts were read.
    async fn list(count: u32) -> (Result<Vec<u8>, String>, bool, usize) {
        let parts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&parts);
        let read = move |part: Vec<u32>| {
            counted.fetch_add(1, Ordering::Relaxed);
            async move {
                assert!(part.len() <= 4);
                // A part that can't be read.
                if part.contains(&40) { Err(Error::from(Refusal::internal("broken"))) } else { Ok(part) }
            }
        };
        let answer = in_parts(StatusCode::OK, (0..count).collect(), 4, read).await.unwrap();
        assert_eq!(answer.status(), 200);
        let is_whole = matches!(answer.body(), Either::Left(_));
        let body = answer.into_body().collect().await.map(|body| body.to_bytes().to_vec());
        (body.map_err(|error| error.to_string()), is_whole, parts.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn a_list_in_parts_is_the_same_list() {
        for (count, parts) in [(0, 1), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3), (40, 10)] {
            let numbers: Vec<u32> = (0..count).collect();
            let expected = serde_json::to_vec(&numbers).unwrap();
            assert_eq!(list(count).await, (Ok(expected), parts == 1, parts), "{count}");
        }
        // Its end is missing, so that nobody takes it for the whole list.
        let (broken, _, parts) = list(50).await;
        assert!(broken.is_err() && parts == 11, "{broken:?} {parts}");
    }
}
