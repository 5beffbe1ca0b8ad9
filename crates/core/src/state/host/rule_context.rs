//! A host in its situation: what conditions are asked of, and the answers that take more than a field.

use std::collections::BTreeMap;
use std::time::Duration;

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::{Host, HostStage, HostValidationId};
use assisted_wire::inventory::{BootDeviceType, Inventory};
use assisted_wire::probe_responses::ContainerImageAvailability;

use super::cluster_context::ClusterContext;
use super::{limits, stage};
use crate::model::facts::HostFacts;
use crate::model::report::ReportKind;
use crate::model::{deadline, disk, embedded};
use crate::validation::Results;
use crate::validation::host::invalid_images;

/// A host, and what is known around it.
#[derive(Clone, Copy)]
pub(crate) struct RuleContext<'a> {
    pub host: &'a HostFacts,
    /// Without them no validation passes.
    pub results: Option<&'a Results<HostValidationId>>,
    /// `None`: nothing of the cluster holds, and no time is over.
    pub context: Option<&'a ClusterContext>,
}

impl<'a> RuleContext<'a> {
    /// A host by itself, as at a request that asks nothing of the cluster.
    pub fn alone(host: &'a HostFacts) -> Self {
        Self { host, results: None, context: None }
    }

    fn fields(&self) -> &'a Host {
        &self.host.record.host
    }

    /// The time limit of the stage, as texts show it.
    pub fn stage_limit(&self) -> Duration {
        self.context.map_or(Duration::ZERO, |context| context.policy.host_stages.of(self.stage()))
    }

    /// The stage of the installation that the host is in.
    pub fn stage(&self) -> Option<HostStage> {
        self.fields().stage()
    }

    /// Whether the stage takes too long; never as long as its clock is held back.
    pub fn is_stage_overdue(&self) -> bool {
        let Some(context) = self.context else { return false };
        let Some(progress) = &self.fields().progress else { return false };
        if progress.stage_updated_at.is_zero() || self.is_stage_held_back() {
            return false;
        }
        let limit = limits::of_stage(&context.policy.host_stages, self.stage(), context.is_single_node);
        context.now > deadline::after(progress.stage_updated_at.0, limit)
    }

    /// Whether the host only waits because another one must be helped by a person.
    pub fn is_stage_held_back(&self) -> bool {
        let status = self.context.and_then(|context| context.cluster_status);
        status == Some(ClusterStatus::InstallingPendingUserAction)
            && self.stage().is_some_and(stage::waits_for_others)
    }

    /// Whether the logs of a failed host were awaited for too long.
    pub fn are_logs_overdue(&self) -> bool {
        let until = self.context.and_then(|context| limits::logs_until(&context.policy, self.fields()));
        self.context.zip(until).is_some_and(|(context, until)| context.now > until)
    }

    /// Whether the installation disk was measured, or need not be.
    pub fn is_disk_tested(&self) -> bool {
        if self.fields().cluster_id.is_none() {
            return false;
        }
        let speed = disk::speed_of(self.host.report(ReportKind::DisksInfo), disk::chosen(self.fields()));
        keeps_partitions(&embedded::installer_args(self.fields()))
            || self.host.inventory.as_deref().is_some_and(boots_persistently)
            || speed.is_some_and(|speed| speed.tested && speed.exit_code == 0)
    }

    /// Whether some images were pulled, and none of them failed.
    pub fn are_images_pulled(&self) -> bool {
        let status = self.host.report(ReportKind::ImagesStatus);
        let known: BTreeMap<String, ContainerImageAvailability> =
            serde_json::from_str(status).unwrap_or_default();
        self.fields().cluster_id.is_some()
            && !known.is_empty()
            && invalid_images(status).is_some_and(|invalid| invalid.is_empty())
    }
}

/// Whether arguments of the installer ask to keep partitions: the disk is not to be written to before.
pub(crate) fn keeps_partitions(installer_args: &[String]) -> bool {
    installer_args.iter().any(|argument| {
        let flag = argument.split('=').next().unwrap_or_default();
        matches!(flag, "--save-partlabel" | "--save-partindex")
    })
}

/// Whether the host runs from the disk that it is to be installed on.
pub fn boots_persistently(inventory: &Inventory) -> bool {
    inventory.boot.as_ref().is_some_and(|boot| boot.device_type == Some(BootDeviceType::Persistent))
}
