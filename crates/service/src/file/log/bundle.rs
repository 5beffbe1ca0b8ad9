//! Everything about a cluster in one archive: its record, its events, its manifests, all logs (service-api §7.7).

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use assisted_base::error::chain;
use assisted_blob::Key;
use assisted_core::model::facts::HostFacts;
use assisted_store::{EventPage, EventQuery};
use assisted_wire::event::Event;
use assisted_wire::id::{ClusterId, HostId};
use assisted_wire::time::DateTime;
use bytes::Bytes;
use futures::{Stream, stream};
use serde::Serialize;

use super::pack::{Entry, pack};
use super::{metadata, plain, stem};
use crate::Error;
use crate::file::Files;
use crate::not_found::no_cluster;
use crate::stored_file::manifest;
use crate::stored_file::{File, key};
use crate::unit_of_work::UnitOfWork;

/// Events that are read at a time.
const PAGE: u64 = 1000;

/// Bytes of the events of a cluster at most; newer ones are left out.
const LARGEST: u64 = 1 << 30;

/// What a list of events ends with.
const END: &[u8] = b"\n]\n";

/// An event as a row of the replaced service's database (running §11).
#[derive(Serialize)]
struct EventRow<'a> {
    #[serde(rename = "ID")]
    number: i64,
    /// Events are written when they happen, and never changed.
    #[serde(rename = "CreatedAt")]
    created_at: DateTime,
    #[serde(rename = "UpdatedAt")]
    updated_at: DateTime,
    /// Never set: a deleted event leaves no row.
    #[serde(rename = "DeletedAt")]
    deleted_at: Option<DateTime>,
    #[serde(flatten)]
    event: &'a Event,
}

impl<'a> EventRow<'a> {
    fn new(number: i64, event: &'a Event) -> Self {
        let at = event.event_time;
        Self { number, created_at: at, updated_at: at, deleted_at: None, event }
    }
}

/// A list of events in JSON that grows page by page, but not beyond a limit.
struct EventList {
    /// Bytes at most.
    limit: u64,
    /// Bytes so far.
    size: u64,
    /// Events so far.
    count: u64,
}

impl EventList {
    /// The text of the next events as far as they fit, and of the list's end if it ends with them; and whether it goes on.
    fn add(&mut self, page: &EventPage, last: bool) -> serde_json::Result<(Vec<u8>, bool)> {
        let (mut text, mut goes_on) = (Vec::new(), !last);
        for (event, number) in page.events.iter().zip(&page.numbers) {
            let before = text.len();
            text.extend_from_slice(if self.count == 0 { b"[\n" } else { b",\n" });
            serde_json::to_writer(&mut text, &EventRow::new(*number, event))?;
            if self.size + (text.len() + END.len()) as u64 > self.limit {
                text.truncate(before);
                goes_on = false;
                break;
            }
            self.count += 1;
        }
        if !goes_on {
            text.extend_from_slice(if self.count == 0 { b"[]\n" } else { END });
        }
        self.size += text.len() as u64;
        Ok((text, goes_on))
    }
}

impl Files {
    pub(super) async fn bundle_logs(&self, work: &UnitOfWork) -> Result<File, Error> {
        let record = work.cluster().ok_or_else(no_cluster)?;
        let cluster = &record.cluster;
        let id = cluster.id;
        self.refresh_own_logs(work, id).await?;

        let manifests = manifest::list(&self.blob, id, record.generated_folder.as_deref()).await?;
        let manifests = manifests.into_iter().map(|(manifest, key)| {
            let source = manifest.manifest_source.map_or("", |source| source.as_str());
            let folder = manifest.folder.map_or("", |folder| folder.as_str());
            Entry::File { name: format!("cluster_manifest_{source}_{folder}_{}", manifest.file_name), key }
        });
        let mut entries: Vec<_> = manifests.collect();
        let hosts: BTreeMap<HostId, &HostFacts> =
            work.facts.hosts.iter().map(|host| (host.record.host.id, host)).collect();
        let mut of_hosts: BTreeMap<HostId, Vec<(String, Key)>> = BTreeMap::new();
        for (key, _) in self.blob.list(&key(id, "logs")?).await? {
            let parts: Vec<_> = key.as_str().split('/').collect();
            let (folder, file) = match *parts.as_slice() {
                [_, _, folder, file] => (folder, file),
                // Of the build of a pool's image.
                [_, _, folder, pool, file] => {
                    entries.push(Entry::File { name: format!("{folder}_{pool}_{file}"), key });
                    continue;
                }
                _ => continue,
            };
            match folder.parse::<HostId>() {
                Err(_) => entries.push(Entry::File { name: format!("{folder}_{file}"), key }),
                Ok(host_id) => {
                    // Hosts that left the cluster are left out.
                    let Some(host) = hosts.get(&host_id) else { continue };
                    let stem = stem(&cluster.name, host);
                    let name = match (file.contains("boot_"), stem.rsplit_once('_')) {
                        (true, Some((start, host))) => format!("{start}_boot_{host}.tar.gz"),
                        _ => format!("{stem}.tar.gz"),
                    };
                    of_hosts.entry(host_id).or_default().push((name, key));
                }
            }
        }
        entries.extend(of_hosts.into_iter().filter_map(|(host_id, files)| {
            let name = format!("{}.tar", stem(&cluster.name, hosts.get(&host_id)?));
            Some(Entry::Archive { name, files })
        }));
        let name = format!("{}_{id}.tar", plain(&cluster.name));
        Ok(File { name, size: None, modified: None, content: Box::pin(pack(self.blob.clone(), entries)) })
    }

    /// Writes the cluster's record and its events beside the logs, and what of them is left out.
    async fn refresh_own_logs(&self, work: &UnitOfWork, id: ClusterId) -> Result<(), Error> {
        let metadata = metadata::text(work)?;
        self.blob.put(&key(id, "logs/cluster/metadata.json")?, metadata).await?;
        let missing = Arc::new(AtomicU64::new(0));
        let events = self.event_pages(id, Arc::clone(&missing));
        self.blob.put_stream(&key(id, "logs/cluster/events.json")?, events, LARGEST).await?;
        let note = key(id, "logs/cluster/left_out.txt")?;
        match missing.load(Ordering::Relaxed) {
            0 => {
                self.blob.delete(&note).await?;
            }
            count => self.blob.put(&note, left_out(count)).await?,
        }
        Ok(())
    }

    /// The events of a cluster as one JSON list, read page by page; at its end, how many did not fit.
    fn event_pages(
        &self,
        id: ClusterId,
        missing: Arc<AtomicU64>,
    ) -> impl Stream<Item = io::Result<Bytes>> + Send {
        let database = Arc::clone(&self.database);
        let list = EventList { limit: LARGEST, size: 0, count: 0 };
        stream::try_unfold(Some((list, 0)), move |state: Option<(EventList, u64)>| {
            let (database, missing) = (Arc::clone(&database), Arc::clone(&missing));
            async move {
                let Some((mut list, offset)) = state else { return Ok(None) };
                let query =
                    EventQuery { cluster_id: Some(id), limit: Some(PAGE), offset, ..EventQuery::default() };
                let page = database
                    .reader()
                    .events(&query)
                    .await
                    .map_err(|error| io::Error::other(chain(&error)))?;
                let last = (page.events.len() as u64) < PAGE;
                let (text, goes_on) = list.add(&page, last).map_err(io::Error::other)?;
                if !goes_on {
                    missing.store(page.count.saturating_sub(list.count), Ordering::Relaxed);
                }
                let next = goes_on.then_some((list, offset + PAGE));
                Ok(Some((Bytes::from(text), next)))
            }
        })
    }
}

/// What tells whoever reads an archive that it does not hold everything.
fn left_out(events: u64) -> String {
    format!(
        "cluster_events.json has at most {LARGEST} bytes: the newest {events} events of the cluster do not fit and are left out.\n\
         They can be listed by the API, the newest first.\n"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn events(count: usize) -> Vec<Event> {
        let event = |number: usize| {
            let message = format!("number {number}");
            let event = json!({
                "name": "n", "severity": "info", "message": message, "event_time": "2026-01-02T03:04:05Z",
            });
            serde_json::from_value(event).unwrap()
        };
        (0..count).map(event).collect()
    }

    /// The whole list of pages of two, and how many events are in it.
    fn list(events: &[Event], limit: u64) -> (Vec<u8>, u64) {
        let mut list = EventList { limit, size: 0, count: 0 };
        let mut all = Vec::new();
        let mut pages = events.chunks(2);
        loop {
            let page = pages.next().unwrap_or_default();
            let page = EventPage {
                events: page.to_vec(),
                numbers: (1..).take(page.len()).collect(),
                ..EventPage::default()
            };
            let (text, goes_on) = list.add(&page, page.events.len() < 2).unwrap();
            all.extend(text);
            assert_eq!(all.len() as u64, list.size);
            if !goes_on {
                return (all, list.count);
            }
        }
    }

    #[test]
    fn events_that_do_not_fit_are_left_out_and_the_list_still_ends() {
        for count in [0, 1, 2, 3, 8] {
            let events = events(count);
            let (whole, held) = list(&events, LARGEST);
            assert_eq!(held, count as u64);
            assert_eq!(serde_json::from_slice::<Vec<Event>>(&whole).unwrap(), events);
            assert_eq!(list(&events, whole.len() as u64), (whole, held), "what just fits is not cut");
        }
        let events = events(8);
        let whole = list(&events, LARGEST).0.len() as u64;
        let mut before = 0;
        for limit in 3..whole {
            let (text, held) = list(&events, limit);
            assert!(text.len() as u64 <= limit && held < 8 && held >= before, "{held} with {limit}");
            before = held;
            // The oldest stay.
            let read: Vec<Event> = serde_json::from_slice(&text).unwrap();
            assert_eq!(read[..], events[..usize::try_from(held).unwrap()]);
        }
        assert_eq!(before, 7);
    }

    #[test]
    fn what_is_left_out_is_named() {
        let text = left_out(17);
        assert!(text.contains("cluster_events.json") && text.contains("newest 17 events"), "{text}");
    }
}
