//! An import from its beginning to its end.

use assisted_blob::Blob;
use assisted_core::model::action::Action;
use assisted_core::model::cluster::ClusterRecord;
use assisted_store::{Batch, Deleted, Due, Foreign, Store, WriteError};
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::id::{ClusterId, InfraEnvId};
use jiff::Timestamp;
use serde_json::Value;

use crate::cluster::Related;
use crate::error::Error;
use crate::files::Files;
use crate::host::Imported;
use crate::report::{Kind, Report};
use crate::row::Row;
use crate::{cluster, event, host, infra_env};

/// Tables without which it is no database of the replaced service.
const NEEDED: &[&str] = &["clusters", "hosts", "infra_envs", "events", "migrations"];

/// The migration that makes the schema which this was written for (running §8.1).
const NEWEST: &str = "20260413120000";

/// Where everything goes: a store and files with their keys.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub store: &'a Store,
    pub files: &'a Blob,
}

/// Takes everything over that is not here yet.
///
/// # Errors
/// When a database or a place of files fails. What can't be read of one cluster or host is no error: it is told in the report.
pub async fn import(from: &Foreign, files: Option<&Blob>, to: Target<'_>) -> Result<Report, Error> {
    for table in NEEDED {
        if !from.has_table(table).await? {
            return Err(Error::NotTheirs(table));
        }
    }
    let mut report = Report::default();
    if from.rows("migrations", "where t.id = $1", Some(NEWEST)).await?.is_empty() {
        report.add_note(format!(
            "the database has not seen the migration {NEWEST}: it is older than the newest form. What it does not have yet is \
             taken for not set"
        ));
    }
    let files = match files {
        Some(files) => Some(Files::new(files, to.files).await?),
        None => {
            report.add_note("no place of files was given: manifests of users, kubeconfigs, Ignition configs and logs did not come");
            None
        }
    };
    let mut import = Import { from, files, to, report, now: Timestamp::now() };
    import.infra_envs().await?;
    import.clusters().await?;
    import.unbound_hosts().await?;
    import.leftovers().await?;
    Ok(import.report)
}

struct Import<'a> {
    from: &'a Foreign,
    files: Option<Files<'a>>,
    to: Target<'a>,
    report: Report,
    now: Timestamp,
}

impl Import<'_> {
    async fn infra_envs(&mut self) -> Result<(), Error> {
        for row in self.from.rows("infra_envs", "order by t.created_at, t.id", None).await? {
            let row = Row::new(row);
            let told = row.text("id").to_owned();
            let record = match infra_env::read(row) {
                Ok(record) => record,
                Err(why) => {
                    self.report.left(Kind::InfraEnvs, told, why);
                    continue;
                }
            };
            let id = record.infra_env.id;
            if self.to.store.infra_env(id).await?.is_some() {
                self.report.there(Kind::InfraEnvs, 1);
                continue;
            }
            let mut batch = Batch::new();
            batch.insert_infra_env(&record);
            let rest = "where t.infra_env_id = $1 and coalesce(t.cluster_id, '') = '' order by t.id";
            let events = self.events(&mut batch, rest, &told).await?;
            if self.write(batch, Kind::InfraEnvs, &told).await? {
                self.report.taken(Kind::InfraEnvs, 1);
                self.report.taken(Kind::Events, events);
            }
        }
        Ok(())
    }

    async fn clusters(&mut self) -> Result<(), Error> {
        // Only what is needed to go on: the whole row is read with its hosts.
        let all = self.from.rows(
            "(select id, deleted_at, created_at from clusters)",
            "order by t.created_at, t.id",
            None,
        );
        for row in all.await? {
            let row = Row::new(row);
            let id = row.text("id").to_owned();
            if !row.text("deleted_at").is_empty() {
                self.report.left(Kind::Clusters, id, "it was deleted, and its networks with it");
                continue;
            }
            self.cluster(&id).await?;
        }
        Ok(())
    }

    async fn cluster(&mut self, told: &str) -> Result<(), Error> {
        let Ok(id) = told.parse::<ClusterId>() else {
            self.report.left(Kind::Clusters, told, "its id is no UUID");
            return Ok(());
        };
        let hosts = self.hosts("where t.cluster_id = $1 order by t.created_at, t.id", told).await?;
        if self.to.store.cluster(id, Deleted::Shown).await?.is_some() {
            self.report.there(Kind::Clusters, 1);
            self.report.there(Kind::Hosts, hosts.len());
        } else if !self.new_cluster(told, hosts).await? {
            return Ok(());
        }
        match &self.files {
            Some(files) => files.copy(told, &mut self.report).await,
            None => Ok(()),
        }
    }

    /// Takes a cluster over with its hosts and events; whether it came.
    async fn new_cluster(&mut self, told: &str, hosts: Vec<(Row, Imported)>) -> Result<bool, Error> {
        let bootstrap = hosts.iter().find(|(_, host)| host.record.host.bootstrap);
        let addresses = bootstrap.map(|(row, _)| host::addresses(row)).unwrap_or_default();
        let row = self.from.rows("clusters", "where t.id = $1", Some(told)).await?.pop().unwrap_or_default();
        let mut record = match cluster::read(Row::new(row), self.related(told).await?, &addresses) {
            Ok(record) => record,
            Err(why) => {
                self.report.left(Kind::Clusters, told, why);
                for (_, host) in hosts {
                    self.report.left(Kind::Hosts, host.key.host_id.to_string(), "its cluster did not come");
                }
                return Ok(false);
            }
        };
        if let Some(files) = &self.files {
            record.kubeconfig_stored = files.has(&format!("{told}/kubeconfig"));
        }
        let mut batch = Batch::new();
        batch.insert_cluster(&record).mark_due(Due::Cluster(record.cluster.id), self.now);
        self.begun(&record, &mut batch);
        for (_, host) in &hosts {
            put(&mut batch, host);
        }
        let events = self.events(&mut batch, "where t.cluster_id = $1 order by t.id", told).await?;
        if !self.write(batch, Kind::Clusters, told).await? {
            return Ok(false);
        }
        self.report.taken(Kind::Clusters, 1);
        self.report.taken(Kind::Hosts, hosts.len());
        self.report.taken(Kind::Events, events);
        Ok(true)
    }

    /// What is under way in a cluster.
    fn begun(&mut self, record: &ClusterRecord, batch: &mut Batch) {
        let cluster = &record.cluster;
        match cluster.status {
            // What was made for it was in the memory of the old service: it is made anew.
            ClusterStatus::PreparingForInstallation => {
                let attempt = cluster.install_started_at.0.into();
                batch.enqueue(&Action::Generate { cluster_id: cluster.id, attempt }, self.now);
            }
            ClusterStatus::Installing => self.report.add_note(format!(
                "cluster {} is being installed: hosts that were not told to begin yet lack the images of its release, and are \
                 installed again after a reset",
                cluster.name
            )),
            _ => {}
        }
    }

    async fn related(&self, told: &str) -> Result<Related, Error> {
        let rows = async |table: &str| {
            // As they were put: their order is stored nowhere.
            self.from.rows(table, "where t.cluster_id = $1 order by t.ctid", Some(told)).await
        };
        Ok(Related {
            operators: rows("monitored_operators").await?,
            cluster_networks: rows("cluster_networks").await?,
            service_networks: rows("service_networks").await?,
            machine_networks: rows("machine_networks").await?,
            api_vips: rows("api_vips").await?,
            ingress_vips: rows("ingress_vips").await?,
        })
    }

    /// Hosts of a cluster or an infra-env, each with its row. Those without an infra-env that is here are left.
    async fn hosts(&mut self, rest: &str, param: &str) -> Result<Vec<(Row, Imported)>, Error> {
        let mut hosts = Vec::new();
        for row in self.from.rows("hosts", rest, Some(param)).await? {
            let row = Row::new(row);
            let told = row.text("id").to_owned();
            match host::read(row.clone()) {
                Ok(host) if self.to.store.infra_env(host.key.infra_env_id).await?.is_none() => {
                    self.report.left(Kind::Hosts, told, "its infra-env is not there");
                }
                Ok(host) => hosts.push((row, host)),
                Err(why) => self.report.left(Kind::Hosts, told, why),
            }
        }
        Ok(hosts)
    }

    async fn unbound_hosts(&mut self) -> Result<(), Error> {
        let all =
            self.from.rows("(select id, created_at from infra_envs)", "order by t.created_at, t.id", None);
        for row in all.await? {
            let told = Row::new(row).text("id").to_owned();
            let Ok(id) = told.parse::<InfraEnvId>() else { continue };
            if self.to.store.infra_env(id).await?.is_none() {
                continue;
            }
            let rest =
                "where t.infra_env_id = $1 and coalesce(t.cluster_id, '') = '' order by t.created_at, t.id";
            for (_, host) in self.hosts(rest, &told).await? {
                if self.to.store.host(host.key, Deleted::Shown).await?.is_some() {
                    self.report.there(Kind::Hosts, 1);
                    continue;
                }
                let mut batch = Batch::new();
                put(&mut batch, &host);
                batch.mark_due(Due::Host(host.key), self.now);
                if self.write(batch, Kind::Hosts, &host.key.host_id.to_string()).await? {
                    self.report.taken(Kind::Hosts, 1);
                }
            }
            // Logs of hosts that are in no cluster.
            if let Some(files) = &self.files {
                files.copy(&told, &mut self.report).await?;
            }
        }
        Ok(())
    }

    /// Tells what has no place to come to.
    async fn leftovers(&mut self) -> Result<(), Error> {
        let hosts = "where coalesce(t.cluster_id, '') <> '' and not exists \
             (select 1 from clusters c where c.id = t.cluster_id and c.deleted_at is null)";
        for row in self.from.rows("(select id, cluster_id from hosts)", hosts, None).await? {
            self.report.left(Kind::Hosts, Row::new(row).text("id"), "its cluster is not there");
        }
        let hosts = "where coalesce(t.cluster_id, '') = '' and not exists \
             (select 1 from infra_envs i where i.id = t.infra_env_id)";
        for row in self.from.rows("(select id, cluster_id, infra_env_id from hosts)", hosts, None).await? {
            self.report.left(Kind::Hosts, Row::new(row).text("id"), "its infra-env is not there");
        }
        let events = "where not exists (select 1 from clusters c where c.id = t.cluster_id and c.deleted_at is null) \
             and not (coalesce(t.cluster_id, '') = '' and exists (select 1 from infra_envs i where i.id = t.infra_env_id))";
        let count = self.from.count("events", events).await?;
        if count > 0 {
            self.report.add_note(format!("{count} events did not come: what they are about is not there"));
        }
        Ok(())
    }

    /// Adds events to a batch; how many.
    async fn events(&mut self, batch: &mut Batch, rest: &str, param: &str) -> Result<usize, Error> {
        let mut count = 0;
        for row in self.from.rows("events", rest, Some(param)).await? {
            let told = row.get("id").map(Value::to_string).unwrap_or_default();
            match event::read(Row::new(row)) {
                Ok(event) => {
                    batch.insert_client_event(&event);
                    count += 1;
                }
                Err(why) => self.report.left(Kind::Events, told, why),
            }
        }
        Ok(count)
    }

    /// Writes what belongs together; false when something of it is here already, under another name.
    async fn write(&mut self, batch: Batch, kind: Kind, told: &str) -> Result<bool, Error> {
        match self.to.store.write(batch).await {
            Ok(()) => Ok(true),
            Err(WriteError::Conflict { what }) => {
                self.report.left(kind, told, format!("{what} is here already"));
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn put(batch: &mut Batch, host: &Imported) {
    batch.insert_host(&host.record);
    for (kind, text) in &host.reports {
        batch.put_report(host.key, *kind, text.as_str());
    }
}
