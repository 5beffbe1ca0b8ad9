//! Defaults and switches of clusters.

use assisted_wire::secret::Secret;
use ipnet::{Ipv4Net, Ipv6Net};

use crate::topic::topic;

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(std::net::Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(first: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(std::net::Ipv6Addr::new(first, 0, 0, 0, 0, 0, 0, 0), prefix)
}

topic! {
    /// Defaults and switches of clusters.
    Clusters {
        /// Network of the pods.
        cluster_network_cidr: Ipv4Net = v4(10, 128, 0, 0, 14), "CLUSTER_NETWORK_CIDR";
        /// Length of the prefix that each host gets out of the network of the pods.
        cluster_network_host_prefix: i64 = 23, "CLUSTER_NETWORK_HOST_PREFIX";
        /// IPv6 network of the pods.
        cluster_network_cidr_ipv6: Ipv6Net = v6(0xfd01, 48), "CLUSTER_NETWORK_CIDR_IPV6";
        /// Length of the prefix that each host gets out of the IPv6 network of the pods.
        cluster_network_host_prefix_ipv6: i64 = 64, "CLUSTER_NETWORK_HOST_PREFIX_IPV6";
        /// Network of the services.
        service_network_cidr: Ipv4Net = v4(172, 30, 0, 0, 16), "SERVICE_NETWORK_CIDR";
        /// IPv6 network of the services.
        service_network_cidr_ipv6: Ipv6Net = v6(0xfd02, 112), "SERVICE_NETWORK_CIDR_IPV6";
        /// Time source when none is asked for.
        ntp_default_server: String = String::new(), "NTP_DEFAULT_SERVER";
        /// Registries that need no credentials.
        public_container_registries: Vec<String> = Vec::new(), "PUBLIC_CONTAINER_REGISTRIES";
        /// Credentials for the staging registry, as user:password, added to every pull secret.
        registry_creds: Secret = Secret::default(), "REGISTRY_CREDS";
        /// Whether clusters trust the internal CA of the vendor.
        install_rh_ca: bool = false, "INSTALL_RH_CA";
        /// File with the internal CA of the vendor (PEM), for INSTALL_RH_CA.
        rh_ca_file: String = "/etc/pki/ca-trust/source/anchors/rh-it-root-ca.crt".to_owned(), "RH_CA_FILE";
        /// Whether IPv6 can be used.
        ipv6_support: bool = true, "IPV6_SUPPORT";
        /// Whether disks can be encrypted.
        disk_encryption_support: bool = true, "DISK_ENCRYPTION_SUPPORT";
        /// Cipher of encrypted disks; empty: that of the OS.
        disk_encryption_cipher: String = String::new(), "DISK_ENCRYPTION_CIPHER";
        /// Whether two control-plane nodes with an arbiter can be installed.
        tna_clusters_support: bool = true, "TNA_CLUSTERS_SUPPORT";
        /// Whether two control-plane nodes with fencing can be installed.
        tnf_clusters_support: bool = false, "TNF_CLUSTERS_SUPPORT";
        /// How long a discovery image waits before it looks at its interfaces; seconds.
        network_discovery_delay_seconds: i64 = 0, "NETWORK_DISCOVERY_DELAY_SECONDS";
        /// Whether a policy that accepts any image signature is put onto hosts.
        force_insecure_policy_json: bool = false, "FORCE_INSECURE_POLICY_JSON";
        /// Id of every new infra-env; empty: random.
        infra_env_id: String = String::new(), "INFRA_ENV_ID";
        /// Whether a single node runs its own name server.
        enable_single_node_dnsmasq: bool = false, "ENABLE_SINGLE_NODE_DNSMASQ";
        /// Whether the end of an installation waits for the cluster's own version to settle.
        check_cluster_version: bool = true, "CHECK_CLUSTER_VERSION";
        /// Whether every request for a certificate of a node is approved, as the replaced controller does; else only those of
        /// the inventory's hosts.
        approve_all_csrs: bool = false, "APPROVE_ALL_CSRS";
        /// Whether the first reboot of a new node may be left out.
        enable_skip_mco_reboot: bool = true, "ENABLE_SKIP_MCO_REBOOT";
    }
}
