//! The differences from the contract that are meant, each with its reason.

use assisted_wire::cluster::ClusterValidationId;
use assisted_wire::host::HostValidationId;
use assisted_wire::operator::SupportedOperator;
use assisted_wire::step::StepType;
use assisted_wire::support_level::FeatureSupportLevelId;
use serde_json::Value;

/// A reviewed difference.
pub(super) struct Difference {
    /// How a place begins and ends.
    place: (&'static str, &'static str),
    /// What the contract has there; `None`: nothing.
    theirs: Option<&'static str>,
    /// What ours has there.
    ours: Option<&'static str>,
    pub(super) reason: &'static str,
}

impl Difference {
    pub(super) fn covers(&self, place: &str, theirs: Option<&Value>, ours: Option<&Value>) -> bool {
        place.starts_with(self.place.0)
            && place.ends_with(self.place.1)
            && theirs.map(Value::to_string).as_deref() == self.theirs
            && ours.map(Value::to_string).as_deref() == self.ours
    }
}

/// A reviewed addition: what the contract has nothing of.
pub(super) struct Addition {
    /// An operation or a definition, as a place names it.
    pub(super) what: &'static str,
    pub(super) reason: &'static str,
}

impl Addition {
    pub(super) fn covers(&self, place: &str, theirs: Option<&Value>) -> bool {
        let rest = place.strip_prefix(self.what);
        theirs.is_none() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '.', '[']))
    }
}

/// Whether a place is a value of an enumeration that says itself that the contract does not have it.
pub(super) fn is_added_value(place: &str) -> bool {
    added_values().any(|value| is_value(place, value))
}

fn is_value(place: &str, value: &str) -> bool {
    place
        .strip_suffix(']')
        .and_then(|place| place.strip_suffix(value))
        .is_some_and(|rest| rest.ends_with(" enum["))
}

/// The values that enumerations have beside those of the contract; each has its reason where it stands.
fn added_values() -> impl Iterator<Item = &'static str> {
    let hosts = HostValidationId::ADDED.iter().map(|(value, _)| value.as_str());
    let clusters = ClusterValidationId::ADDED.iter().map(|(value, _)| value.as_str());
    let features = FeatureSupportLevelId::ADDED.iter().map(|(value, _)| value.as_str());
    let operators = SupportedOperator::ADDED.iter().map(|(value, _)| value.as_str());
    let steps = StepType::ADDED.iter().map(|(value, _)| value.as_str());
    hosts.chain(clusters).chain(features).chain(operators).chain(steps)
}

pub(super) const ADDITIONS: &[Addition] = &[
    Addition {
        what: "operation v2ListClusterValidations",
        reason: "validations_info has no room for what was measured, what is required, what to do and where to read on",
    },
    Addition { what: "operation v2ListHostValidations", reason: "as for clusters" },
    Addition { what: "definition validation-list", reason: "what the two answer" },
    Addition { what: "definition validation", reason: "an item of that list" },
    Addition {
        what: "operation v2ListClusterActions",
        reason: "what the service still has to do for a cluster, and what that failed with, is seen nowhere else",
    },
    Addition { what: "definition pending-action-list", reason: "what it answers" },
    Addition { what: "definition pending-action", reason: "an item of that list" },
    Addition {
        what: "operation v2ListOperators",
        reason: "what operators need, and on what each can be had, is told in many places, each for one cluster or version",
    },
    Addition { what: "definition operator-description-list", reason: "what it answers" },
    Addition { what: "definition operator-description", reason: "an item of that list" },
    Addition { what: "definition operator-level", reason: "a part of that" },
    Addition {
        what: "operation v2AssessClusterOperators",
        reason: "what an operator would take of a cluster's hosts, and which are too small, is else known once it is selected",
    },
    Addition { what: "definition operator-assessment-list", reason: "what it answers" },
    Addition { what: "definition operator-assessment", reason: "an item of that list" },
    Addition { what: "definition operator-host-assessment", reason: "a part of that" },
    Addition {
        what: "operation v2RenderCluster",
        reason: "what a cluster would be installed with can't be looked at before it is installed",
    },
    Addition {
        what: "operation v2EnableHost",
        reason: "a host that is left out for a while need not be deleted and discovered again",
    },
    Addition { what: "operation v2DisableHost", reason: "the other direction" },
    Addition {
        what: "operation v2ReleaseMachine",
        reason: "a host's id is held to the machine behind it; one whose board was changed needs a way back",
    },
    Addition {
        what: "definition install_cmd_request.approve_all_csrs",
        reason: "the service says whether the controller approves what the replaced one does; left out unless it is on",
    },
    Addition {
        what: "operation v2Watch",
        reason: "who wants to see an installation as it goes on would have to ask again and again",
    },
    Addition {
        what: "operation v2ListWork",
        reason: "rows of work that fail, hang or were set aside hold up nobody, so nobody would see them otherwise",
    },
    Addition { what: "definition work-list", reason: "what it answers" },
    Addition { what: "definition work-row", reason: "an item of that list" },
    Addition { what: "definition work-driver", reason: "an item of that list" },
    Addition {
        what: "operation v2ReleaseWork",
        reason: "a row that was set aside is tried again at once by who has mended its cause",
    },
    Addition {
        what: "definition cluster.dns_records",
        reason: "which records the service made in a managed domain is told nowhere else; left out where it made none",
    },
    Addition { what: "definition dns-record", reason: "an item of that list" },
    Addition {
        what: "operation v2GetImageState",
        reason: "until the base image is there its address answers an error, which a browser shows instead of the page",
    },
    Addition { what: "definition image-state", reason: "what it answers" },
    Addition {
        what: "operation v2GetOnClusterLayering",
        reason: "how the images of nodes are that are built at installation: published stages have no values for it",
    },
    Addition { what: "definition on-cluster-layering-state", reason: "what it answers" },
    Addition {
        what: "definition cluster-create-params.on_cluster_layering",
        reason: "image mode is asked for where the rest of a cluster is described, in the words of the install config",
    },
    Addition {
        what: "definition v2-cluster-update-params.on_cluster_layering",
        reason: "the same of a cluster that is there; its answers have no such member",
    },
    Addition { what: "definition on-cluster-layering-settings", reason: "what these take" },
    Addition { what: "definition on-cluster-layering-registry", reason: "a part of that" },
    Addition { what: "definition on-cluster-layering-pool-file", reason: "a part of that" },
    Addition { what: "definition on-cluster-layering-build", reason: "a part of that" },
    Addition { what: "definition on-cluster-layering-host", reason: "a part of that" },
    Addition { what: "definition on-cluster-layering-status", reason: "a word in that" },
    Addition { what: "definition on-cluster-layering-pool", reason: "a word in that" },
    Addition { what: "definition on-cluster-layering-location", reason: "a word in that" },
    Addition { what: "definition on-cluster-layering-build-state", reason: "a word in that" },
    Addition { what: "definition on-cluster-layering-error-code", reason: "a word in that" },
    Addition { what: "definition on-cluster-layering-host-phase", reason: "a word in that" },
    Addition {
        what: "operation v2ReportOnClusterLayeringBuild",
        reason: "what builders on the bootstrap host and in the cluster tell of it",
    },
    Addition { what: "definition on-cluster-layering-report", reason: "what they send" },
    Addition {
        what: "operation v2UploadOnClusterLayeringLogs",
        reason: "what a build wrote, of each pool by itself: an image of workers is built on no host whose logs have it",
    },
    Addition { what: "operation v2DownloadOnClusterLayeringLogs", reason: "the other direction" },
    Addition {
        what: "operation v2GetMachineOSConfig",
        reason: "the controller applies the user's MachineOSConfig once the image is there",
    },
    Addition {
        what: "operation v2ListMachines",
        reason: "machines with a management controller are started by their owner's own scripts otherwise, or by hand",
    },
    Addition { what: "definition machine-list", reason: "what it answers" },
    Addition { what: "definition machine", reason: "an item of that list" },
    Addition {
        what: "definition machine-action",
        reason: "a part of that: what is asked of a controller takes minutes",
    },
    Addition {
        what: "operation v2GetMachine",
        reason: "whether a machine is on is asked for one at a time: a controller that is away takes its time",
    },
    Addition { what: "operation v2AddMachine", reason: "the service has to know controller and account" },
    Addition { what: "definition machine-create-params", reason: "what it takes" },
    Addition { what: "operation v2RemoveMachine", reason: "and to forget them" },
    Addition { what: "operation v2SwitchMachine", reason: "machines are switched on, off, and restarted" },
    Addition { what: "definition machine-power-params", reason: "what it takes" },
    Addition {
        what: "operation v2BootMachine",
        reason: "a machine boots the discovery image once without anybody at its console",
    },
    Addition { what: "definition machine-boot-params", reason: "what it takes" },
    Addition {
        what: "operation v2GetClusterMirrorRegistry",
        reason: "an AgentClusterInstall names mirrors of its cluster, which no published request can",
    },
    Addition { what: "operation v2SetClusterMirrorRegistry", reason: "sets them" },
    Addition { what: "operation v2GetInfraEnvMirrorRegistry", reason: "the same of an InfraEnv" },
    Addition { what: "operation v2SetInfraEnvMirrorRegistry", reason: "sets them" },
    Addition { what: "definition mirror-registry", reason: "what these take and answer" },
    Addition {
        what: "operation v2ReadReleaseImage",
        reason: "a ClusterImageSet may name a release that nobody configured: who administers the service has it read",
    },
    Addition { what: "definition release-image-params", reason: "what it takes" },
];

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        place: ("operation V2ListSupportedOperators answer 200[] ", "enum[numa-resources]"),
        theirs: Some("true"),
        ours: None,
        reason: "its name is that by which it is asked for",
    },
    Difference {
        place: ("operation V2ListSupportedOperators answer 200[] ", "enum[numaresources]"),
        theirs: None,
        ours: Some("true"),
        reason: "the name by which the operator is asked for, and by which existing services list it (service-api §9)",
    },
    Difference {
        place: ("definition ", " format"),
        theirs: None,
        ours: Some("\"int64\""),
        reason: "our integers tell their width; without a format existing clients use 64 bits",
    },
    Difference {
        place: ("definition ", " format"),
        theirs: None,
        ours: Some("\"double\""),
        reason: "our numbers tell their width; without a format existing clients use 64 bits",
    },
    Difference {
        place: ("definition host-update-params.host_role ", "$ref"),
        theirs: None,
        ours: Some("\"#/definitions/host-role-update-params\""),
        reason: "the values of host_role have a name, under which the contract lists them too",
    },
    Difference {
        place: ("definition host-update-params.host_role enum[", "]"),
        theirs: Some("true"),
        ours: None,
        reason: "the values of host_role stand with their name",
    },
    Difference {
        place: ("definition host-update-params.host_role ", "type"),
        theirs: Some("\"string\""),
        ours: None,
        reason: "the type of host_role stands with its name",
    },
];

#[cfg(test)]
mod tests {
    use super::is_value;

    #[test]
    fn a_value_is_found_at_the_end_of_a_place() {
        assert!(is_value("definition host-validation-id enum[trial]", "trial"));
        for place in ["definition trial", "definition a enum[no-trial]", "definition a enum[trial] more"] {
            assert!(!is_value(place, "trial"), "{place}");
        }
    }
}
