//! What a host answers to a step, and what that changes (agent-protocol §2.3).
//!
//! An answer is read into its type and written again before it is stored, so that nothing unknown is kept; what is odd in it
//! is set aside with a note. Failed steps change nothing but where stated: what was known stays known.

mod artifacts;
mod bounds;
mod dhcp;
pub(crate) mod disk_speed;
mod images;
mod install;
mod inventory;
mod media;
mod vips;

use std::fmt::Display;

use assisted_wire::host::MediaStatus;
use assisted_wire::probe_responses::{
    ApiVipConnectivityResponse, ConnectivityReport, DomainResolutionResponse, FreeNetworksAddresses,
    NtpSynchronizationResponse, TangConnectivityResponse, UpgradeAgentResponse, UpgradeAgentResult,
};
use assisted_wire::step::{StepReply, StepType};
use assisted_wire::{embedded, lenient};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::bounds::Shorten;
use crate::model::cluster::ClusterRecord;
use crate::model::decision::Decision;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::{Facts, HostFacts};
use crate::model::host::HostKey;
use crate::model::refusal::{Refusal, RefusalKind};
use crate::model::report::ReportKind;

pub(crate) use inventory::evaluate as evaluate_inventory;

/// Exit code of a step that could not read the discovery media.
const MEDIA_LOST: i64 = 256;

/// What an answer changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplyEffect {
    pub decision: Decision,
    /// What was odd in the answer and is not kept, for the log.
    pub notes: Vec<String>,
}

/// A host and its cluster while an answer is worked in.
struct WorkingCopy<'a> {
    facts: &'a Facts,
    host: HostFacts,
    cluster: Option<ClusterRecord>,
    events: Vec<NewEvent>,
    notes: Vec<String>,
}

/// Works in an answer.
///
/// # Errors
///
/// `Invalid` when the output of a step that went well can't be read, `NotFound` when the host is not among the facts, `Internal` when the
/// host is in a state in which the answer makes no sense.
pub fn reply(facts: &Facts, key: HostKey, reply: &StepReply) -> Result<ReplyEffect, Refusal> {
    let before = facts.host(key)?;
    let (host, events) = (before.clone(), Vec::new());
    let mut draft = WorkingCopy { facts, host, cluster: None, events, notes: Vec::new() };
    if reply.exit_code == 0 {
        if draft.host.record.host.media_status == Some(MediaStatus::Disconnected) {
            draft.host.record.host.media_status = Some(MediaStatus::Connected);
        }
        match reply.step_type {
            Some(step) => draft.succeeded(step, &reply.output)?,
            None => draft.notes.push("it names no step".to_owned()),
        }
    } else {
        draft.failed(reply);
    }
    let decision = Decision::of_host(before, draft.host, facts.now, draft.events);
    Ok(ReplyEffect { decision: Decision { cluster: draft.cluster, ..decision }, notes: draft.notes })
}

impl WorkingCopy<'_> {
    fn succeeded(&mut self, step: StepType, output: &str) -> Result<(), Refusal> {
        match step {
            StepType::Inventory => inventory::received(self, output),
            StepType::ConnectivityCheck => {
                self.store::<ConnectivityReport>(step, output, ReportKind::Connectivity)
            }
            StepType::ApiVipConnectivityCheck => {
                self.store::<ApiVipConnectivityResponse>(step, output, ReportKind::ApiVipConnectivity)
            }
            StepType::TangConnectivityCheck => {
                self.store::<TangConnectivityResponse>(step, output, ReportKind::TangConnectivity)
            }
            StepType::DomainResolution => {
                self.store::<DomainResolutionResponse>(step, output, ReportKind::DomainNameResolutions)
            }
            // A scan that runs already answers with nothing.
            StepType::FreeNetworkAddresses if output.is_empty() => Ok(()),
            StepType::FreeNetworkAddresses => {
                let networks: FreeNetworksAddresses = self.read_shortened(step, output)?;
                if networks.0.is_empty() {
                    return Err(Refusal::new(
                        RefusalKind::Internal,
                        format!("no networks in free addresses of host {}", self.name()),
                    ));
                }
                self.put(ReportKind::FreeAddresses, &networks)
            }
            StepType::NtpSynchronizer => {
                let response: NtpSynchronizationResponse = self.read_shortened(step, output)?;
                self.put(ReportKind::NtpSources, &response.ntp_sources.unwrap_or_default())
            }
            StepType::VerifyVips => {
                let response = self.read(step, output)?;
                vips::verified(self, &response)
            }
            StepType::UpgradeAgent => {
                let response = self.read(step, output)?;
                self.upgraded(&response);
                Ok(())
            }
            StepType::DhcpLeaseAllocate => {
                let response = self.read(step, output)?;
                dhcp::leased(self, &response)
            }
            StepType::InstallationDiskSpeedCheck => disk_speed::measured(self, 0, output),
            StepType::ContainerImageAvailability => images::tried(self, output),
            StepType::DownloadBootArtifacts => {
                artifacts::downloaded(self, true);
                Ok(())
            }
            // Their end is all there is to know, or is reported elsewhere.
            StepType::Execute
            | StepType::Install
            | StepType::StopInstallation
            | StepType::LogsGather
            | StepType::NextStepRunner
            | StepType::RebootForReclaim => Ok(()),
        }
    }

    /// What can't be worked in is left out: a step that failed is always taken note of.
    fn failed(&mut self, reply: &StepReply) {
        // A state that knows no loss of its media does not take the rest of the answer either.
        if reply.exit_code == MEDIA_LOST && !media::lost(self) {
            return;
        }
        let Some(step) = reply.step_type else {
            return self.notes.push("it names no step".to_owned());
        };
        let _ = match step {
            StepType::TangConnectivityCheck => {
                self.host.put_report(ReportKind::TangConnectivity, bounds::beginning(&reply.error).into());
                Ok(())
            }
            StepType::Install => {
                install::failed(self, reply);
                Ok(())
            }
            StepType::InstallationDiskSpeedCheck => {
                disk_speed::measured(self, reply.exit_code, &reply.output)
            }
            // Tells of each image all the same.
            StepType::ContainerImageAvailability => images::tried(self, &reply.output),
            StepType::DownloadBootArtifacts => {
                artifacts::downloaded(self, false);
                Ok(())
            }
            _ => Ok(()),
        };
    }

    fn upgraded(&mut self, response: &UpgradeAgentResponse) {
        let spec = match response.result {
            Some(UpgradeAgentResult::Success) => catalogue::UPGRADE_AGENT_FINISHED,
            Some(UpgradeAgentResult::Failure) => catalogue::UPGRADE_AGENT_FAILED,
            // Another download of it runs already.
            None => return,
        };
        let image: &dyn Display = &response.agent_image;
        self.events.push(spec.of_host(&self.host, &[("agent_image", image)]));
    }

    /// Reads an output and keeps it as a report, without what no machine has.
    fn store<T: DeserializeOwned + Serialize + Shorten>(
        &mut self,
        step: StepType,
        output: &str,
        kind: ReportKind,
    ) -> Result<(), Refusal> {
        let response: T = self.read_shortened(step, output)?;
        self.put(kind, &response)
    }

    /// Reads an output, and leaves out what no machine has; that is noted.
    fn read_shortened<T: DeserializeOwned + Shorten>(
        &mut self,
        step: StepType,
        output: &str,
    ) -> Result<T, Refusal> {
        let mut response: T = self.read(step, output)?;
        self.notes.extend(bounds::shorten_report(&mut response));
        Ok(response)
    }

    fn put<T: Serialize>(&mut self, kind: ReportKind, report: &T) -> Result<(), Refusal> {
        let text = embedded::write(report).map_err(Refusal::internal)?;
        bounds::keep(kind, &text)?;
        self.host.put_report(kind, text.into());
        Ok(())
    }

    /// Reads the output of a step; what is odd in it is noted.
    fn read<T: DeserializeOwned>(&mut self, step: StepType, output: &str) -> Result<T, Refusal> {
        let refuse =
            |error: &dyn Display| Refusal::invalid(format!("output of step {step} can't be read: {error}"));
        // A list would be taken for an object's members in their order, and an empty one for an object without any.
        let is_list = output.trim_start().starts_with('[');
        if is_list != matches!(step, StepType::FreeNetworkAddresses | StepType::VerifyVips) {
            return Err(refuse(&"it has another form"));
        }
        // The answer about an Ignition config has the config in it.
        if let Some(why) = bounds::too_large(output, step == StepType::ApiVipConnectivityCheck) {
            return Err(refuse(&why));
        }
        let (read, notes) = lenient::read(output);
        self.notes.extend(notes);
        read.map_err(|error| refuse(&error))
    }

    fn name(&self) -> String {
        self.host.name()
    }
}
