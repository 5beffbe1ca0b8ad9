//! What a change is counted and timed as (running §1.1): found out by comparing what was with what is, so that no decision has to think of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use assisted_wire::cluster::{ClusterKind, ClusterStatus};
use assisted_wire::embedded;
use assisted_wire::host::{DiskInfo, HostStage, HostStatus};
use assisted_wire::inventory::DriveType;
use assisted_wire::on_cluster_layering::LayeringErrorCode;
use assisted_wire::probe_responses::{ContainerImageAvailability, ContainerImageAvailabilityResult};
use assisted_wire::time::DateTime;
use jiff::Timestamp;

use crate::model::cluster::ClusterRecord;
use crate::model::disk;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::HostFacts;
use crate::model::measurement::{
    FailedWhen, HostEnded, ImageBuildEnded, Measured, Measurement, StageEnded, Subject,
};
use crate::model::report::ReportKind;
use crate::state::host::status_info;
use crate::validation::{broken_since, failing};

/// What is not known of a host.
const UNKNOWN: &str = "Unknown";

/// The values of a host before a change, which measurements compare with those after it.
#[derive(Clone, Debug)]
pub struct HostBefore {
    status: HostStatus,
    status_updated_at: DateTime,
    stage: Option<HostStage>,
    stage_started_at: DateTime,
    reports: BTreeMap<ReportKind, Arc<str>>,
}

/// Reports whose changes are measured.
const MEASURED: [ReportKind; 3] =
    [ReportKind::DisksInfo, ReportKind::ImagesStatus, ReportKind::ValidationsInfo];

impl HostBefore {
    /// Of a host as it is now.
    pub fn of(host: &HostFacts) -> Self {
        let fields = &host.record.host;
        let reports = MEASURED.iter().filter_map(|kind| Some((*kind, Arc::clone(host.reports.get(kind)?))));
        Self {
            status: fields.status,
            status_updated_at: fields.status_updated_at,
            stage: fields.stage(),
            stage_started_at: fields
                .progress
                .as_ref()
                .map(|progress| progress.stage_started_at)
                .unwrap_or_default(),
            reports: reports.collect(),
        }
    }

    fn report(&self, kind: ReportKind) -> &str {
        self.reports.get(&kind).map_or("", AsRef::as_ref)
    }
}

/// What a change of a cluster is measured as; `before`: `None` when it is new. `events`: those of the same change.
pub fn of_cluster(
    before: Option<&ClusterRecord>,
    after: &ClusterRecord,
    events: &[NewEvent],
    now: Timestamp,
) -> Vec<Measurement> {
    use ClusterStatus::{
        Cancelled, Error, Installed, Installing, InstallingPendingUserAction, PreparingForInstallation,
    };
    let cluster = &after.cluster;
    let mut all = Vec::new();
    let Some(before) = before else {
        if cluster.kind != ClusterKind::DisconnectedCluster {
            all.push(Measured::ClusterCreated);
        }
        return of(after, all);
    };
    let (from, to) = (before.cluster.status, cluster.status);
    if from != to {
        if (from, to) == (PreparingForInstallation, Installing) {
            all.push(Measured::InstallationStarted);
        }
        let ends = match to {
            Installed | Cancelled => true,
            Error | InstallingPendingUserAction => from != InstallingPendingUserAction,
            _ => false,
        };
        if ends && let Some(seconds) = seconds_since(cluster.install_started_at, now) {
            let (result, last_state) = (to.as_str(), from.as_str());
            all.push(Measured::InstallationEnded { result, last_state, seconds });
        }
    }
    let (old, new) = (&before.cluster.validations_info, &cluster.validations_info);
    if old != new && emitted(events, catalogue::CLUSTER_VALIDATION_FAILED.name) {
        all.extend(validations(Subject::Cluster, broken_since(old, new), FailedWhen::AfterSuccess));
    }
    all.extend(image_builds(before, after));
    if cluster.deleted_at.is_some() && before.cluster.deleted_at.is_none() {
        all.extend(validations(Subject::Cluster, failing(new), FailedWhen::Deregistered));
    }
    of(after, all)
}

/// Builds of images of nodes that began or ended.
fn image_builds(before: &ClusterRecord, after: &ClusterRecord) -> Vec<Measured> {
    let mut all = Vec::new();
    for build in &after.layering.builds {
        let was = before.layering.builds.iter().find(|was| was.pool == build.pool);
        let (pool, location) = (build.pool.as_str(), build.location.as_str());
        if build.attempt > was.map_or(0, |was| was.attempt) {
            all.push(Measured::ImageBuildBegun { pool, location });
        }
        if build.state.is_terminal() && was.is_none_or(|was| was.state != build.state) {
            let ended = (build.started_at, build.completed_at);
            let seconds = match ended {
                (Some(began), Some(ended)) => ended.0.duration_since(began.0).as_secs_f64().max(0.0),
                _ => 0.0,
            };
            all.push(Measured::ImageBuildEnded(ImageBuildEnded {
                pool,
                location,
                result: build.state.as_str(),
                seconds,
                code: build.error_code.map(LayeringErrorCode::as_str),
                bytes: build.image_bytes,
            }));
        }
    }
    all
}

fn of(record: &ClusterRecord, all: Vec<Measured>) -> Vec<Measurement> {
    all.into_iter().map(|what| Measurement::of_cluster(record.cluster.id, what)).collect()
}

/// What a change of a host is measured as. `events`: those of the same change.
pub fn of_host(
    before: &HostBefore,
    after: &HostFacts,
    events: &[NewEvent],
    now: Timestamp,
) -> Vec<Measurement> {
    let mut all = Vec::new();
    stage(before, after, now, &mut all);
    let report = |kind| {
        let (old, new) = (before.report(kind), after.report(kind));
        (old != new).then_some((old, new))
    };
    if let Some((old, new)) = report(ReportKind::DisksInfo) {
        let new: BTreeMap<String, DiskInfo> = read(new);
        let old: BTreeMap<String, DiskInfo> = read(old);
        let changed = new.iter().filter(|(path, disk)| old.get(*path) != Some(disk));
        let speeds =
            changed.filter_map(|(_, disk)| disk.disk_speed.as_ref()).filter(|speed| speed.exit_code == 0);
        all.extend(speeds.map(|speed| Measured::DiskSynced { milliseconds: speed.speed_ms as f64 }));
    }
    if let Some((old, new)) = report(ReportKind::ImagesStatus) {
        let old: BTreeMap<String, ContainerImageAvailability> = read(old);
        let new: BTreeMap<String, ContainerImageAvailability> = read(new);
        let first = new.into_iter().filter(|(name, _)| !old.contains_key(name));
        all.extend(first.map(|(image, status)| Measured::ImagePulled {
            image,
            result: status.result.map_or("", ContainerImageAvailabilityResult::as_str),
            rate: status.download_rate,
        }));
    }
    if emitted(events, catalogue::HOST_VALIDATION_FAILED.name)
        && let Some((old, new)) = report(ReportKind::ValidationsInfo)
    {
        all.extend(validations(Subject::Host, broken_since(old, new), FailedWhen::AfterSuccess));
    }
    of_record(after, all)
}

/// What the end of a cluster is measured as, for one of its hosts.
pub fn of_host_of_deregistered(host: &HostFacts) -> Vec<Measurement> {
    let failed = failing(host.report(ReportKind::ValidationsInfo));
    of_record(host, validations(Subject::Host, failed, FailedWhen::Deregistered).collect())
}

/// What new interfaces of a host are measured as: nothing while it has as many real ones as before, or is bound to no cluster.
pub(crate) fn of_interfaces(
    host: &HostFacts,
    known: Option<usize>,
    physical: usize,
    other: Vec<String>,
) -> Option<Measurement> {
    let changed = host.record.host.cluster_id.is_some() && known != Some(physical);
    changed.then(|| measurement(host, Measured::Interfaces { physical, other }))
}

fn of_record(host: &HostFacts, all: Vec<Measured>) -> Vec<Measurement> {
    all.into_iter().map(|what| measurement(host, what)).collect()
}

fn measurement(host: &HostFacts, what: Measured) -> Measurement {
    Measurement { cluster_id: host.record.host.cluster_id, host_id: Some(host.record.host.id), what }
}

/// The stage that a host has left, and the end of its installation if that is where it got.
fn stage(before: &HostBefore, after: &HostFacts, now: Timestamp, all: &mut Vec<Measured>) {
    let fields = &after.record.host;
    let (left, since, result) = match failure(before, after) {
        Some(Failure::Command) => {
            (Some(status_info::INSTALL_FAILED), before.status_updated_at, HostStage::Failed.as_str())
        }
        Some(Failure::Stage) => {
            (before.stage.map(HostStage::as_str), before.stage_started_at, HostStage::Failed.as_str())
        }
        None if before.stage != fields.stage() && fields.stage().is_some() => {
            (before.stage.map(HostStage::as_str), before.stage_started_at, HostStage::Done.as_str())
        }
        None => return,
    };
    let role = if fields.bootstrap { "bootstrap" } else { after.effective_role().as_str() };
    let inventory = after.inventory.as_deref();
    if let Some(phase) = left
        && let Some(seconds) = seconds_since(since, now)
    {
        let vendor = inventory.and_then(|inventory| inventory.system_vendor.as_ref());
        all.push(Measured::StageEnded(StageEnded {
            phase,
            result,
            seconds,
            vendor: vendor.map_or_else(|| UNKNOWN.to_owned(), |vendor| vendor.manufacturer.clone()),
            product: vendor.map_or_else(|| UNKNOWN.to_owned(), |vendor| vendor.product_name.clone()),
            disk_type: inventory
                .and_then(|inventory| disk::installation_disk(fields, inventory))
                .and_then(|disk| disk.drive_type)
                .map_or(UNKNOWN, DriveType::as_str),
            role,
        }));
    }
    if result == HostStage::Failed.as_str() || fields.stage() == Some(HostStage::Done) {
        let disks = inventory.iter().flat_map(|inventory| inventory.disks.iter().flatten());
        let nics = inventory.iter().flat_map(|inventory| inventory.interfaces.iter().flatten());
        all.push(Measured::HostEnded(HostEnded {
            result,
            role,
            cores: inventory.and_then(|inventory| inventory.cpu.as_ref()).map_or(0, |cpu| cpu.count),
            memory_bytes: inventory
                .and_then(|inventory| inventory.memory.as_ref())
                .map_or(0, |memory| memory.physical_bytes),
            disks: disks
                .map(|disk| (disk.drive_type.map_or(UNKNOWN, DriveType::as_str), disk.size_bytes))
                .collect(),
            nics: nics.map(|nic| nic.speed_mbps).collect(),
        }));
    }
}

/// How a host failed.
enum Failure {
    /// It could not begin.
    Command,
    /// It said so itself.
    Stage,
}

fn failure(before: &HostBefore, after: &HostFacts) -> Option<Failure> {
    let fields = &after.record.host;
    let installing = matches!(
        before.status,
        HostStatus::Installing | HostStatus::InstallingInProgress | HostStatus::InstallingPendingUserAction
    );
    if before.status == HostStatus::PreparingForInstallation && fields.status == HostStatus::PreparingFailed {
        return Some(Failure::Command);
    }
    if fields.status != HostStatus::Error || !installing {
        return None;
    }
    if fields.status_info == status_info::INSTALL_FAILED {
        return Some(Failure::Command);
    }
    fields.status_info.starts_with(HostStage::Failed.as_str()).then_some(Failure::Stage)
}

fn validations(of: Subject, ids: Vec<String>, when: FailedWhen) -> impl Iterator<Item = Measured> {
    ids.into_iter().map(move |id| Measured::ValidationFailed { of, id, when })
}

fn emitted(events: &[NewEvent], name: &str) -> bool {
    events.iter().any(|event| event.name == name)
}

/// `None` for what never began.
fn seconds_since(start: DateTime, now: Timestamp) -> Option<f64> {
    (!start.is_zero()).then(|| now.duration_since(start.0).as_secs_f64().max(0.0))
}

/// What a report says; nothing when it can't be read.
fn read<T: serde::de::DeserializeOwned + Default>(text: &str) -> T {
    embedded::read(text).ok().flatten().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use assisted_wire::host::HostProgressInfo;
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;
    use crate::model::facts::Facts;
    use crate::validation::testing;

    fn record(facts: &Facts) -> ClusterRecord {
        facts.cluster.clone().unwrap()
    }

    fn event(name: &'static str) -> NewEvent {
        let id = assisted_wire::id::ClusterId::random();
        NewEvent { name, ..catalogue::CLUSTER_DEREGISTERED.of_cluster(id, &[]) }
    }

    fn what(measured: Vec<Measurement>) -> Vec<Measured> {
        measured.into_iter().map(|one| one.what).collect()
    }

    #[test]
    fn a_cluster_from_its_registration_to_its_end() {
        let facts = testing::facts(1);
        let (mut before, now) = (record(&facts), facts.now);
        assert_eq!(what(of_cluster(None, &before, &[], now)), [Measured::ClusterCreated]);
        let disconnected = {
            let mut record = before.clone();
            record.cluster.kind = ClusterKind::DisconnectedCluster;
            record
        };
        assert_eq!(of_cluster(None, &disconnected, &[], now), []);

        let mut after = before.clone();
        before.cluster.status = ClusterStatus::PreparingForInstallation;
        after.cluster.status = ClusterStatus::Installing;
        after.cluster.install_started_at = now.into();
        assert_eq!(what(of_cluster(Some(&before), &after, &[], now)), [Measured::InstallationStarted]);

        let later = now + SignedDuration::from_secs(90);
        for (from, to, ends) in [
            (ClusterStatus::Finalizing, ClusterStatus::Installed, true),
            (ClusterStatus::Installing, ClusterStatus::Cancelled, true),
            (ClusterStatus::Installing, ClusterStatus::Error, true),
            (ClusterStatus::Installing, ClusterStatus::InstallingPendingUserAction, true),
            (ClusterStatus::InstallingPendingUserAction, ClusterStatus::Error, false),
            (ClusterStatus::Installing, ClusterStatus::Finalizing, false),
        ] {
            let (mut before, mut end) = (after.clone(), after.clone());
            (before.cluster.status, end.cluster.status) = (from, to);
            let measured = of_cluster(Some(&before), &end, &[], later);
            assert_eq!(measured.len(), usize::from(ends), "{from} to {to}");
            if let Some(one) = measured.first() {
                let [told] = one.events().try_into().unwrap();
                assert_eq!((told.name, told.message.as_str()), ("", "cluster.installation.results"));
                let props = json!({"duration": 90.0, "result": to.as_str(), "lastState": from.as_str()});
                assert_eq!(told.props, Some(props));
            }
        }
    }

    #[test]
    fn validations_that_break_and_those_that_are_left() {
        let facts = testing::facts(1);
        let (before, now) = (record(&facts), facts.now);
        let text = |first: &str, second: &str| {
            json!({"network": [
                {"id": "a", "status": first, "message": ""}, {"id": "b", "status": second, "message": ""},
            ]})
            .to_string()
        };
        let (mut before, mut after) = (before.clone(), before);
        before.cluster.validations_info = text("success", "pending");
        after.cluster.validations_info = text("failure", "failure");
        let failed =
            |id: &str, when| Measured::ValidationFailed { of: Subject::Cluster, id: id.to_owned(), when };
        assert_eq!(of_cluster(Some(&before), &after, &[], now), [], "without the event it is not looked at");
        let events = [event(catalogue::CLUSTER_VALIDATION_FAILED.name)];
        let broken = what(of_cluster(Some(&before), &after, &events, now));
        assert_eq!(broken, [failed("a", FailedWhen::AfterSuccess)]);

        let mut gone = after.clone();
        gone.cluster.deleted_at = Some(now.into());
        let left = what(of_cluster(Some(&after), &gone, &[], now));
        assert_eq!(left, [failed("a", FailedWhen::Deregistered), failed("b", FailedWhen::Deregistered)]);
        let facts = facts.with_report(ReportKind::ValidationsInfo, &text("failure", "success"));
        let [of_host] = what(of_host_of_deregistered(&facts.hosts[0])).try_into().unwrap();
        let when = FailedWhen::Deregistered;
        assert_eq!(of_host, Measured::ValidationFailed { of: Subject::Host, id: "a".to_owned(), when });
    }

    #[test]
    fn the_stages_of_a_host() {
        let facts = testing::facts(1)
            .with_inventory(&testing::inventory().cores(8).memory_mib(32 << 10))
            .with_host(|host| {
                host.record.host.status = HostStatus::InstallingInProgress;
                host.record.host.status_updated_at = testing::now().into();
            });
        let now = facts.now;
        let at = |stage| HostProgressInfo {
            current_stage: Some(stage),
            stage_started_at: now.into(),
            ..HostProgressInfo::default()
        };
        let mut host = facts.hosts[0].clone();
        host.record.host.progress = Some(at(HostStage::StartingInstallation));
        let before = HostBefore::of(&host);
        let later = now + SignedDuration::from_secs(7);
        assert_eq!(of_host(&before, &host, &[], later), []);

        host.record.host.progress = Some(at(HostStage::Done));
        let [left, ended] = what(of_host(&before, &host, &[], later)).try_into().unwrap();
        let Measured::StageEnded(left) = left else { panic!("{left:?}") };
        assert_eq!((left.phase, left.result, left.seconds), ("Starting installation", "Done", 7.0));
        let Measured::HostEnded(ended) = ended else { panic!("{ended:?}") };
        assert_eq!((ended.result, ended.cores, ended.memory_gib()), ("Done", 8, 32));
        assert_eq!(ended.disks_gib().count(), ended.disks.len());

        let mut failed = facts.hosts[0].clone();
        failed.record.host.status = HostStatus::Error;
        failed.record.host.status_info = "Failed - no disk".to_owned();
        let [left, ended] = what(of_host(&before, &failed, &[], later)).try_into().unwrap();
        assert!(
            matches!(left, Measured::StageEnded(left) if (left.phase, left.result) == ("Starting installation", "Failed"))
        );
        assert!(matches!(ended, Measured::HostEnded(ended) if ended.result == "Failed"));

        failed.record.host.status_info = status_info::INSTALL_FAILED.to_owned();
        let [left, _] =
            what(of_host(&HostBefore { stage: None, ..before }, &failed, &[], later)).try_into().unwrap();
        assert!(matches!(left, Measured::StageEnded(left) if left.phase == "installation command failed"));
    }

    #[test]
    fn what_a_host_measures_is_counted_once() {
        let facts = testing::facts(1);
        let host = &facts.hosts[0];
        let disks = json!({
            "/dev/sda": {"path": "/dev/sda", "disk_speed": {"tested": true, "exit_code": 0, "speed_ms": 9}},
            "/dev/sdb": {"path": "/dev/sdb", "disk_speed": {"tested": true, "exit_code": 1, "speed_ms": 3}},
        });
        let images = json!({"quay.io/a": {"name": "quay.io/a", "download_rate": 12.5, "result": "success"}});
        let mut after = host.clone();
        after.put_report(ReportKind::DisksInfo, disks.to_string().into());
        after.put_report(ReportKind::ImagesStatus, images.to_string().into());
        let measured = what(of_host(&HostBefore::of(host), &after, &[], facts.now));
        let (image, result) = ("quay.io/a".to_owned(), "success");
        assert_eq!(
            measured,
            [Measured::DiskSynced { milliseconds: 9.0 }, Measured::ImagePulled { image, result, rate: 12.5 }]
        );
        assert_eq!(of_host(&HostBefore::of(&after), &after, &[], facts.now), []);
    }

    #[test]
    fn events_of_interfaces() {
        let facts = testing::facts(1);
        let host = &facts.hosts[0];
        assert_eq!(of_interfaces(host, Some(2), 2, Vec::new()), None);
        let measured = of_interfaces(host, None, 2, vec!["tun".to_owned()]).unwrap();
        let told: Vec<_> =
            measured.events().into_iter().map(|event| (event.message, event.props.unwrap())).collect();
        assert_eq!(
            told,
            [
                ("nic.virtual_interfaces".to_owned(), json!({"count": 1, "types": ["tun"]})),
                ("nic.physical_interfaces".to_owned(), json!({"count": 2})),
            ]
        );
        assert_eq!(of_interfaces(&testing::unbound().hosts[0], None, 2, Vec::new()), None);
    }
}
