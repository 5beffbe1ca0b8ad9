//! Kubernetes' own command line at the lab's cluster.

use std::process::Command;

use assisted_lab_tools::kubernetes;
use serde_json::Value;

use super::{Lab, LabError, NAME, heading, program, say};

impl Lab {
    pub(super) fn show_cluster(&self) -> Result<(), LabError> {
        heading("The cluster");
        self.cli.show(&["cluster", "show", NAME])?;
        self.cli.show(&["cluster", "download", NAME, "kubeconfig", "--to", "kubeconfig"])?;
        self.show_kubectl(&["get", "nodes", "-o", "wide"])
    }

    /// Kubernetes' own command line, with the cluster's kubeconfig.
    pub(super) fn kubectl(&self, words: &[&str]) -> Result<Command, LabError> {
        let kubectl = kubernetes::find("kubectl").ok_or(LabError::NoKubernetes)?;
        let mut command = self.network.command(&kubectl);
        command.args(["--kubeconfig", "kubeconfig"]).args(words).current_dir(&self.plan.dir);
        command.envs(kubernetes::FEWER_COLLECTIONS);
        Ok(command)
    }

    pub(super) fn kubectl_json(&self, words: &[&str]) -> Result<Value, LabError> {
        program::json(&format!("kubectl {}", words.join(" ")), &mut self.kubectl(words)?, &self.plan.dir)
    }

    pub(super) fn show_kubectl(&self, words: &[&str]) -> Result<(), LabError> {
        let words_told = words.join(" ");
        say(&format!("\n$ kubectl {words_told}"));
        program::run(&format!("kubectl {words_told}"), &mut self.kubectl(words)?, &self.plan.dir)
    }
}
