//! Cluster API on the lab's hub: the core, the project's two providers, and an infrastructure of the lab's machines. Objects alone ask for a
//! cluster, as `docs/capi.md` tells it.

mod boots;
mod infrastructure;
mod manifests;
mod programs;
mod provider;

use std::collections::BTreeSet;

use assisted_lab_tools::cluster_api;
use serde_json::Value;

use super::metal3::is_true;
use super::{Lab, LabError, NAME, Phase, Plan, heading, program, say};
use crate::network::Running;
pub use boots::Boots;
pub(super) use provider::{KINDS, OF_CORE, accounts, known_by};

/// What Cluster API calls the Secret with the cluster's kubeconfig, and its member.
const KUBECONFIG: (&str, &str) = ("lab-kubeconfig", "value");
/// Conditions of a Cluster that tell how far it is.
const CONDITIONS: [&str; 4] =
    ["InfrastructureReady", "ControlPlaneInitialized", "ControlPlaneAvailable", "Available"];

/// What Cluster API is made of here, and what its infrastructure knows. It ends when this is dropped.
pub(super) struct ClusterApi {
    programs: Vec<Running>,
    /// Which version of the cluster's kubeconfig is in the lab's folder.
    kubeconfig: Option<String>,
    /// Metal3Machines whose nodes know what they are.
    linked: BTreeSet<String>,
}

impl ClusterApi {
    pub(super) fn must_live(&mut self) -> Result<(), LabError> {
        Ok(self.programs.iter_mut().try_for_each(Running::must_live)?)
    }
}

/// Fails when the lab can't show what is asked for.
pub(super) fn must_come(plan: &Plan) -> Result<(), LabError> {
    let Some(boots) = plan.cluster_api else { return Ok(()) };
    if boots != Boots::LiveIso && !plan.namespaces {
        return Err(LabError::OnlyLiveIso);
    }
    if cluster_api::OLDEST.is_built() { Ok(()) } else { Err(LabError::NoClusterApi) }
}

impl Lab {
    /// Has Cluster API make the cluster that the hub's objects describe.
    pub(super) fn run_by_cluster_api(&mut self) -> Result<(), LabError> {
        heading("The infrastructure gives machines to Cluster API as it asks for them");
        self.begins("machines boot, and are discovered");
        self.await_available()?;
        self.phase = Phase::Installed;
        heading("The Cluster, and its nodes");
        self.describe()?;
        self.show_hub(&[
            "get",
            "machines.cluster.x-k8s.io,metal3machines,openshiftassistedconfigs,baremetalhosts",
        ])?;
        self.keep_objects()?;
        self.show_kubectl(&["get", "nodes", "-o", "wide"])?;
        self.show_kubectl(&[
            "get",
            "nodes",
            "-o",
            "custom-columns=NODE:.metadata.name,PROVIDER:.spec.providerID",
        ])
    }

    /// Waits until the Cluster tells that it is available; shows what it tells until then.
    fn await_available(&mut self) -> Result<(), LabError> {
        let mut wait = self.wait_for("the condition Available of the Cluster", self.plan.limit);
        let mut shown = String::new();
        loop {
            let found = self.play_infrastructure()?;
            let (cluster, install) = (found.first("Cluster"), found.first("AgentClusterInstall"));
            let told = told(&cluster, &install);
            if told != shown {
                say(&told);
                shown = told;
            }
            // The core tells of workers later than that the control plane is there.
            if is_true(&cluster, "Available")
                && is_true(&cluster, "WorkersAvailable")
                && self.all_linked(&cluster)
            {
                return Ok(());
            }
            if is_true(&install, "Failed") {
                return Err(LabError::Command {
                    command: "the installation by Cluster API".to_owned(),
                    said: shown,
                });
            }
            if self.phase == Phase::Before && has_begun(&install) {
                self.phase = Phase::Installing;
                self.begins("the cluster is installed");
            }
            // Looking costs what machines could use.
            for _ in 0..4 {
                self.pause()?;
            }
            wait.go_on()?;
        }
    }

    /// Whether each machine's node has its provider id.
    fn all_linked(&self, cluster: &Value) -> bool {
        let count = |place: &str| cluster["status"][place]["desiredReplicas"].as_u64().unwrap_or_default();
        let linked = self.cluster_api.as_ref().map_or(0, |cluster_api| cluster_api.linked.len());
        linked as u64 == count("controlPlane") + count("workers")
    }

    /// What `clusterctl` shows of the Cluster.
    fn describe(&self) -> Result<(), LabError> {
        let clusterctl = cluster_api::OLDEST.find("clusterctl").map_err(|_| LabError::NoClusterApi)?;
        let words =
            ["describe", "cluster", NAME, "--namespace", NAME, "--show-conditions=all", "--color=false"];
        let mut command = self.network.command(clusterctl);
        command.args(words).current_dir(&self.plan.dir);
        command.env("KUBECONFIG", super::hub::kubeconfig_path(&self.plan));
        // No look for newer versions, and no settings but the lab's.
        command.env("CLUSTERCTL_DISABLE_VERSIONCHECK", "true").env("XDG_CONFIG_HOME", &self.plan.dir);
        let what = format!("clusterctl {}", words.join(" "));
        say(&format!("\n$ {what}"));
        program::run(&what, &mut command, &self.plan.dir)
    }
}

/// Whether the installation is under way, or over.
fn has_begun(install: &Value) -> bool {
    let state = install["status"]["debugInfo"]["state"].as_str();
    let before = ["", "insufficient", "pending-for-input", "ready"];
    !before.contains(&state.unwrap_or_default())
}

/// How far a Cluster is, and its installation.
fn told(cluster: &Value, install: &Value) -> String {
    let mut told = format!("cluster {NAME}:");
    for kind in CONDITIONS {
        told.push_str(&format!(" {kind}={}", if is_true(cluster, kind) { "True" } else { "False" }));
    }
    let status = &install["status"];
    if let Some(state) = status["debugInfo"]["state"].as_str() {
        let percent = status["progress"]["totalPercentage"].as_u64().unwrap_or_default();
        let why = status["debugInfo"]["stateInfo"].as_str().unwrap_or_default();
        told.push_str(&format!("\n  its installation is {state} {percent}%: {why}"));
    }
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::up::machines::tests::plan;
    use crate::up::topology::{Role, Topology};

    #[test]
    fn what_cannot_be_shown_is_refused() {
        let refused = |plan: Plan| must_come(&plan).unwrap_err().to_string();
        let asked = Plan { cluster_api: Some(Boots::Both), ..plan(Topology::Compact, 1) };
        assert!(refused(asked).contains("live-iso"));
        must_come(&plan(Topology::Compact, 1)).unwrap();
        assert!(Boots::Both.live_iso(Role::Master) && !Boots::Both.live_iso(Role::Worker));
    }

    #[test]
    fn how_far_a_cluster_is() {
        let cluster = json!({"status": {"conditions": [{"type": "InfrastructureReady", "status": "True"}]}});
        let in_state = |state: &str| json!({"status": {"debugInfo": {"state": state, "stateInfo": "x"}}});
        assert!(!has_begun(&json!({})) && !has_begun(&in_state("ready")));
        let install = in_state("installing");
        assert!(has_begun(&install));
        assert_eq!(
            told(&cluster, &install),
            "cluster lab: InfrastructureReady=True ControlPlaneInitialized=False ControlPlaneAvailable=False Available=False\n  \
             its installation is installing 0%: x"
        );
    }
}
