//! Workloads on the control plane.

use super::Manifest;

/// Lets workloads run on masters: a patch of the scheduler's configuration.
pub fn schedulable_masters() -> Manifest {
    Manifest {
        name: "cluster-scheduler-02-config.yml.patch_ai_set_masters_schedulable".to_owned(),
        text: "- op: replace\n  path: /spec/mastersSchedulable\n  value: true\n".to_owned(),
    }
}
