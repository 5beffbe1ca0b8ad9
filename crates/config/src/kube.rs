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
        /// Whether metal3 inspects and cleans machines with the discovery image, and has them installed, where its operator is of 4.12
        /// or later; else they boot the image as virtual media and nothing else.
        allow_converged_flow: bool = true, "ALLOW_CONVERGED_FLOW";
        /// Image of Ironic's agent for x86_64, where neither metal3 nor a release tells of one.
        ironic_agent_image: String = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:\
            d3f1d4d3cd5fbcf1b9249dd71d01be4b901d337fdc5f8f66569eb71df4d9d446".to_owned(), "IRONIC_AGENT_IMAGE";
        /// The same for aarch64.
        ironic_agent_image_arm: String = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:\
            cb0edf19fffc17f542a7efae76939b1e9757dc75782d4727fb0aa77ed5809b43".to_owned(), "IRONIC_AGENT_IMAGE_ARM";
        /// Whether metal3 is paused, and its status kept, for machines that were handed over to the installed cluster.
        pause_provisioned_hosts: bool = true, "PAUSE_PROVISIONED_BMHS";
        /// How often the cluster is asked for requests for certificates and the nodes of hosts that join it.
        approve_csrs_requeue: Duration = Duration::from_secs(60), "APPROVE_CSRS_REQUEUE_DURATION";
    }
}
