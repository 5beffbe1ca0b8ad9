//! Makes and deletes the DNS records of a cluster.
//!
//! Which records there are is written down before they are made. So a process that dies in between leaves nothing that nobody
//! knows: whoever takes the action over makes the same records in their own place.

use std::io;

use assisted_base::error::chain;
use assisted_base::failpoint;
use assisted_core::decide::dns::{awaits, deleted, made, noted, wanted};
use assisted_core::model::action::Attempt;
use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::facts::Facts;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_dns::{Change, DnsError, Record};
use assisted_store::{Deleted, QueuedAction};
use assisted_wire::id::ClusterId;
use assisted_wire::network::DnsRecord;

use super::Actions;
use crate::Error;
use crate::attempt::final_error;
use crate::dns::{of_wire, taken};

/// So often what fails is tried; then the preparation has failed, or the records are left.
const MOST_ATTEMPTS: u32 = 5;

/// Why records were not made.
enum RecordsError {
    /// Another try would find the same.
    Final(String),
    /// Another try may help.
    Passing(String),
    Broken(Error),
}

impl From<DnsError> for RecordsError {
    fn from(error: DnsError) -> Self {
        match error {
            DnsError::Taken { .. } | DnsError::NoZone { .. } | DnsError::Name { .. } => {
                Self::Final(chain(&error))
            }
            error => Self::Passing(chain(&error)),
        }
    }
}

impl Actions {
    /// Makes the records of an attempt to install, and has the domain decide by how that went.
    pub(super) async fn create_dns_records(
        &self,
        asked: &QueuedAction,
        id: ClusterId,
        attempt: Attempt,
    ) -> Result<(), Error> {
        let work = self.database.load_cluster(id, Deleted::Hidden).await.map_err(final_error)?;
        let facts = work.map(|work| work.facts);
        let Some(record) = facts.as_ref().and_then(|facts| facts.cluster.as_ref()) else {
            return self.finish_action(asked).await;
        };
        if !awaits(record, attempt) {
            return self.finish_action(asked).await;
        }
        let hosts = facts.as_ref().map(|facts| facts.hosts.as_slice()).unwrap_or_default();
        let outcome = match self.make_records(id, record, wanted(record, hosts)).await {
            Ok(records) => Ok(records),
            Err(RecordsError::Final(reason)) => Err(reason),
            Err(RecordsError::Passing(reason)) if asked.attempts >= MOST_ATTEMPTS => Err(reason),
            Err(RecordsError::Passing(reason)) => return Err(failed(&reason)),
            Err(RecordsError::Broken(error)) => return Err(error),
        };
        self.decide(id, Some(asked), |facts| made(facts, attempt, outcome.clone())).await
    }

    async fn make_records(
        &self,
        id: ClusterId,
        record: &ClusterRecord,
        wanted: Vec<DnsRecord>,
    ) -> Result<Vec<DnsRecord>, RecordsError> {
        let cluster = &record.cluster;
        // Whoever took the domain out of the settings wants no records any more.
        let Some(provider) = self.dns.of(&cluster.base_dns_domain) else { return Ok(Vec::new()) };
        let owned = |name: &str| cluster.dns_records.iter().any(|record| record.name == name);
        let names: Vec<_> =
            wanted.iter().map(|record| record.name.clone()).filter(|name| !owned(name)).collect();
        let others = step("look for names", provider.taken(&names)).await?;
        if !others.is_empty() {
            return Err(RecordsError::Final(taken(&others)));
        }
        // Of an earlier attempt, under another name perhaps.
        let same = |one: &DnsRecord, other: &DnsRecord| one.name == other.name && one.r#type == other.r#type;
        let is_wanted = |record: &&DnsRecord| wanted.iter().any(|wanted| same(wanted, record));
        let obsolete: Vec<_> =
            cluster.dns_records.iter().filter(|record| !is_wanted(record)).cloned().collect();
        let all = [obsolete.as_slice(), wanted.as_slice()].concat();
        if all != cluster.dns_records {
            let note = |facts: &Facts| noted(facts, all.clone());
            self.decide(id, None, note).await.map_err(RecordsError::Broken)?;
        }
        let changes: Vec<_> = wanted
            .iter()
            .filter_map(|record| Some(Change { record: of_wire(record)?, replaces: owned(&record.name) }))
            .collect();
        if !changes.is_empty()
            && let Err(error) = step("put records", provider.put(&changes)).await
        {
            if matches!(error, DnsError::Taken { .. }) {
                // Somebody was quicker: what they made must not be taken for this cluster's.
                let note = |facts: &Facts| noted(facts, cluster.dns_records.clone());
                self.decide(id, None, note).await.map_err(RecordsError::Broken)?;
            }
            return Err(error.into());
        }
        self.delete_records(&obsolete).await?;
        Ok(wanted)
    }

    /// Deletes records, each where its domain is kept.
    async fn delete_records(&self, records: &[DnsRecord]) -> Result<(), DnsError> {
        for record in records.iter().filter_map(of_wire) {
            match self.dns.of_record(&record) {
                Some(provider) => {
                    step("delete a record", provider.delete(std::slice::from_ref(&record))).await?;
                }
                None => return Err(unmanaged(&record)),
            }
        }
        Ok(())
    }

    /// Deletes the records of a cluster that was reset or deregistered. What can't be deleted is left, and told.
    pub(super) async fn delete_dns_records(&self, asked: &QueuedAction, id: ClusterId) -> Result<(), Error> {
        let stored = self.database.reader().cluster(id, Deleted::Shown).await?;
        let records = stored.map(|stored| stored.record.cluster.dns_records).unwrap_or_default();
        if records.is_empty() {
            return self.finish_action(asked).await;
        }
        let outcome = match self.delete_records(&records).await {
            Ok(()) => Ok(()),
            Err(error) if asked.attempts >= MOST_ATTEMPTS || matches!(error, DnsError::NoZone { .. }) => {
                Err(chain(&error))
            }
            Err(error) => return Err(failed(&chain(&error))),
        };
        self.decide(id, Some(asked), |facts| deleted(facts, &records, outcome.clone())).await
    }
}

/// What is asked of a server, as a step of the action.
async fn step<T>(deed: &str, asked: impl Future<Output = Result<T, DnsError>>) -> Result<T, DnsError> {
    let failed =
        |error: io::Error| DnsError::Unreachable { server: "the server".to_owned(), source: error.into() };
    let step = failpoint::begin(|| deed.to_owned()).map_err(failed)?;
    let done = asked.await?;
    step.end().map_err(failed)?;
    Ok(done)
}

/// The failure of an attempt: it is shown with the row, and another attempt follows.
fn failed(reason: &str) -> Error {
    Refusal::new(RefusalKind::Internal, reason).into()
}

fn unmanaged(record: &Record) -> DnsError {
    DnsError::NoZone { server: "BASE_DNS_DOMAINS".to_owned(), zone: record.name.clone() }
}
