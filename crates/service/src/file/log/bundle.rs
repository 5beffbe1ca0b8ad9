//! Everything about a cluster in one archive: its record, its events, its manifests, all logs (service-api §7.7).

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use assisted_base::error::chain;
use assisted_blob::Key;
use assisted_core::model::facts::HostFacts;
use assisted_store::EventQuery;
use assisted_wire::id::{ClusterId, HostId};
use bytes::Bytes;
use futures::{Stream, stream};

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

/// Bytes of the events of a cluster at most.
const LARGEST: u64 = 1 << 30;

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
            let &[_, _, folder, file] = parts.as_slice() else { continue };
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

    /// Writes the cluster's record and its events beside the logs.
    async fn refresh_own_logs(&self, work: &UnitOfWork, id: ClusterId) -> Result<(), Error> {
        let metadata = metadata::text(work)?;
        self.blob.put(&key(id, "logs/cluster/metadata.json")?, metadata).await?;
        self.blob.put_stream(&key(id, "logs/cluster/events.json")?, self.event_pages(id), LARGEST).await?;
        Ok(())
    }

    /// The events of a cluster as one JSON list, read page by page.
    fn event_pages(&self, id: ClusterId) -> impl Stream<Item = io::Result<Bytes>> + Send {
        let database = Arc::clone(&self.database);
        stream::try_unfold(Some(0), move |offset: Option<u64>| {
            let database = Arc::clone(&database);
            async move {
                let Some(offset) = offset else { return Ok(None) };
                let query =
                    EventQuery { cluster_id: Some(id), limit: Some(PAGE), offset, ..EventQuery::default() };
                let page = database
                    .reader()
                    .events(&query)
                    .await
                    .map_err(|error| io::Error::other(chain(&error)))?;
                let last = (page.events.len() as u64) < PAGE;
                let mut text = Vec::new();
                for (number, event) in page.events.iter().enumerate() {
                    let first = offset == 0 && number == 0;
                    text.extend_from_slice(if first { b"[\n" } else { b",\n" });
                    serde_json::to_writer(&mut text, event).map_err(io::Error::other)?;
                }
                if last {
                    text.extend_from_slice(if offset == 0 && page.events.is_empty() {
                        b"[]\n"
                    } else {
                        b"\n]\n"
                    });
                }
                let next = (!last).then_some(offset + PAGE);
                Ok(Some((Bytes::from(text), next)))
            }
        })
    }
}
