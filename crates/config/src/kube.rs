//! The Kubernetes API: objects of a hub that describe clusters.

use std::time::Duration;

use crate::topic::topic;

topic! {
    /// The Kubernetes API.
    Kube {
        /// Whether objects of a Kubernetes cluster (KUBECONFIG, else the pod's account) describe clusters, infra-envs and hosts.
        enabled: bool = false, "ENABLE_KUBE_API";
        /// Namespace of the lease by which one replica leads.
        namespace: String = "assisted-installer".to_owned(), "NAMESPACE";
        /// How long the other replicas wait until one of them takes over.
        lease_duration: Duration = Duration::from_secs(15), "LEADER_LEASE_DURATION";
        /// How long the replica that leads tries to go on.
        renew_deadline: Duration = Duration::from_secs(10), "LEADER_RENEW_DEADLINE";
        /// How often it tries.
        retry_interval: Duration = Duration::from_secs(2), "LEADER_RETRY_INTERVAL";
        /// Whether BareMetalHosts with the label of an InfraEnv boot its image, and say what their Agents are to be.
        enable_metal3: bool = true, "ENABLE_METAL3";
        /// Whether metal3 is paused, and its status kept, for machines that were handed over to the installed cluster.
        pause_provisioned_hosts: bool = true, "PAUSE_PROVISIONED_BMHS";
        /// How often the cluster is asked for requests for certificates and the nodes of hosts that join it.
        approve_csrs_requeue: Duration = Duration::from_secs(60), "APPROVE_CSRS_REQUEUE_DURATION";
    }
}
