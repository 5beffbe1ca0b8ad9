//! What a person can do about a validation that fails.

/// The remedy for a validation; `None` where its message says it all.
pub fn of(id: &str) -> Option<&'static str> {
    Some(match id {
        "connected" => "check that the machine is on, and that it reaches the service over the network",
        "media-connected" => "reconnect the virtual media; the minimal image depends on it less",
        "has-inventory" => "wait for the agent's first report, or look at the agent's log on the host",
        "has-min-cpu-cores" | "has-cpu-cores-for-role" => {
            "use a machine with more CPU cores, or give it a role that needs fewer"
        }
        "has-min-memory" | "has-memory-for-role" => "add memory, or give the host a role that needs less",
        "has-min-valid-disks" => {
            "add a disk that meets the requirements; `assisted host show` tells why each disk can't be used"
        }
        "hostname-unique" | "hostname-valid" => "set another name: `assisted host update HOST --name NAME`",
        "machine-cidr-defined" => {
            "set the virtual IPs (`assisted cluster update CLUSTER --api-vip IP --ingress-vip IP`), or wait for hosts to report their networks"
        }
        "belongs-to-machine-cidr" => {
            "give the host an address in the cluster's machine network, or choose another machine network"
        }
        "ntp-synced" => {
            "let the host reach a time server, or name one: `assisted cluster update CLUSTER --ntp-source HOST`"
        }
        "time-synced-between-host-and-service" => {
            "set the clock of the host, or name a time server that it reaches"
        }
        "valid-platform-network-settings" => "set disk.EnableUUID on the virtual machine",
        "compatible-with-cluster-platform" => {
            "use the host for a cluster of its platform, or change the cluster's platform"
        }
        "has-default-route" => "give the host a default route, by DHCP or a static network configuration",
        "belongs-to-majority-group" => "make the hosts reach each other: check switches, VLANs and firewalls",
        "api-domain-name-resolved-correctly"
        | "api-int-domain-name-resolved-correctly"
        | "apps-domain-name-resolved-correctly" => {
            "add the DNS record for the cluster, or let the platform manage the names"
        }
        "dns-wildcard-not-configured" => "remove the wildcard DNS record that covers the cluster's domain",
        "no-ip-collisions-in-network" => "give each machine an address of its own",
        "api-vips-defined" | "ingress-vips-defined" => {
            "set them: `assisted cluster update CLUSTER --api-vip IP --ingress-vip IP`"
        }
        "api-vips-valid" | "ingress-vips-valid" => {
            "choose addresses in the machine network that nothing uses"
        }
        "dns-domain-defined" => "set it: `assisted cluster update CLUSTER --base-domain DOMAIN`",
        "pull-secret-set" => "set it: `assisted cluster update CLUSTER --pull-secret-file FILE`",
        "sufficient-masters-count" => {
            "add hosts, or give hosts roles: `assisted host update HOST --role master`"
        }
        "all-hosts-are-ready-to-install" => "look at each host that is not known: `assisted host list`",
        "no-cidrs-overlapping" => "choose cluster, service and machine networks that do not overlap",
        "network-prefix-valid" => "choose a larger network or a smaller host prefix",
        "ntp-server-configured" => {
            "name a time server that all hosts reach: `assisted cluster update CLUSTER --ntp-source HOST`"
        }
        _ => return None,
    })
}
