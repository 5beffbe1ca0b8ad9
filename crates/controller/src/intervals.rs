//! Intervals and timeouts: how often the controller reconciles, and how long it waits (installer-and-controller §D).

use std::time::Duration;

/// Intervals and limits. The service and the bootstrap host count on the defaults.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    /// Between two passes over nodes, certificate signing requests, labels and machines, and between attempts to report
    /// something, where no watch says that something has changed.
    pub resync: Duration,
    /// No pass follows another sooner, however much changes.
    pub min_interval: Duration,
    /// How long a certificate signing request is refused before an event tells of it: many are approved a moment later.
    pub refusal_grace: Duration,
    /// Between reads of the operators and of the state of the installation, and between attempts to complete it.
    pub operators: Duration,
    /// Timeout for the operators of the cluster.
    pub operators_limit: Duration,
    /// Timeout for the cluster to take over the images of its nodes.
    pub adoption_limit: Duration,
    /// Timeout for the setup jobs of operators, where the operators' own timeouts are not shorter.
    pub setup_jobs_limit: Duration,
    /// Between attempts to create the event that says that the controller is ready.
    pub ready: Duration,
    pub ready_limit: Duration,
    pub ready_limit_abi: Duration,
    /// Between reads of the certificates of the router, and of the list of operators.
    pub router_ca: Duration,
    /// Between uploads of the controller's log.
    pub upload: Duration,
    /// Timeout for the upload of the logs at the end.
    pub summary_limit: Duration,
    /// Between attempts to give the cluster's DNS its address, and between attempts to delete the service that holds it.
    pub dns: Duration,
    pub dns_delete: Duration,
    /// Between attempts to count reboots.
    pub reboots: Duration,
    pub reboots_limit: Duration,
    /// Between requests for a cluster that the service does not know.
    pub unknown: Duration,
}

impl Default for Intervals {
    fn default() -> Self {
        let (seconds, minutes) = (Duration::from_secs, |count: u64| Duration::from_secs(60 * count));
        Self {
            resync: seconds(30),
            min_interval: seconds(1),
            refusal_grace: seconds(60),
            operators: seconds(60),
            operators_limit: minutes(600),
            adoption_limit: minutes(90),
            setup_jobs_limit: minutes(180),
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

impl Intervals {
    /// These intervals, so many times as short.
    #[must_use]
    pub fn faster(self, times: u32) -> Self {
        let of = |duration: Duration| duration / times.max(1);
        Self {
            resync: of(self.resync),
            min_interval: of(self.min_interval),
            refusal_grace: of(self.refusal_grace),
            operators: of(self.operators),
            operators_limit: of(self.operators_limit),
            adoption_limit: of(self.adoption_limit),
            setup_jobs_limit: of(self.setup_jobs_limit),
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
