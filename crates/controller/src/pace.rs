//! How often things are looked at, and how long they are waited for (installer-and-controller §D).

use std::time::Duration;

/// Intervals and limits. The service and the bootstrap host count on the defaults.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between two passes over nodes, requests for certificates, labels, machines; and between attempts to tell something.
    pub look: Duration,
    /// No pass follows another sooner, however much changes.
    pub breath: Duration,
    /// How long a request for a certificate is refused before somebody is told: many may be approved a moment later.
    pub refusal_grace: Duration,
    /// Between looks at operators, at the state of the installation, and attempts to complete it.
    pub operators: Duration,
    /// No longer are operators of the cluster waited for.
    pub operators_limit: Duration,
    /// Between attempts to tell the bootstrap host that the controller is there.
    pub ready: Duration,
    pub ready_limit: Duration,
    pub ready_limit_abi: Duration,
    /// Between looks for the certificates of the router, and for the list of operators.
    pub router_ca: Duration,
    /// Between uploads of the controller's log.
    pub upload: Duration,
    /// No longer are the logs at the end attempted.
    pub summary_limit: Duration,
    /// Between attempts to give the cluster's DNS its address, and to delete what is in its way.
    pub dns: Duration,
    pub dns_delete: Duration,
    /// Between attempts to count reboots.
    pub reboots: Duration,
    pub reboots_limit: Duration,
    /// Between requests for a cluster that the service does not know.
    pub unknown: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        let (seconds, minutes) = (Duration::from_secs, |count: u64| Duration::from_secs(60 * count));
        Self {
            look: seconds(30),
            breath: seconds(3),
            refusal_grace: seconds(60),
            operators: seconds(60),
            operators_limit: minutes(600),
            ready: seconds(1),
            ready_limit: minutes(70),
            ready_limit_abi: minutes(5),
            router_ca: seconds(10),
            upload: minutes(5),
            summary_limit: minutes(70),
            dns: seconds(20),
            dns_delete: seconds(10),
            reboots: seconds(15),
            reboots_limit: minutes(6),
            unknown: seconds(5),
        }
    }
}

impl Pace {
    /// The same, so many times as fast.
    #[must_use]
    pub fn faster(self, times: u32) -> Self {
        let of = |duration: Duration| duration / times.max(1);
        Self {
            look: of(self.look),
            breath: of(self.breath),
            refusal_grace: of(self.refusal_grace),
            operators: of(self.operators),
            operators_limit: of(self.operators_limit),
            ready: of(self.ready),
            ready_limit: of(self.ready_limit),
            ready_limit_abi: of(self.ready_limit_abi),
            router_ca: of(self.router_ca),
            upload: of(self.upload),
            summary_limit: of(self.summary_limit),
            dns: of(self.dns),
            dns_delete: of(self.dns_delete),
            reboots: of(self.reboots),
            reboots_limit: of(self.reboots_limit),
            unknown: of(self.unknown),
        }
    }
}
