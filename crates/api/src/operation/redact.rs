//! What callers who may not see secrets are not shown: passwords of boards, and addresses that open something.

use assisted_service::Caller;
use assisted_wire::cluster::{Cluster, ClusterList};
use assisted_wire::host::{Host, HostList, HostRegistrationResponse};
use assisted_wire::infra_env::{InfraEnv, InfraEnvList};

/// An answer that may hold secrets.
pub(super) trait Redact: Sized {
    /// Takes them out.
    fn redact(&mut self);

    /// The answer as a caller sees it.
    fn for_caller(mut self, caller: &Caller) -> Self {
        if !caller.sees_secrets() {
            self.redact();
        }
        self
    }
}

impl Redact for Host {
    fn redact(&mut self) {
        self.fencing_credentials.clear();
    }
}

impl Redact for HostList {
    fn redact(&mut self) {
        self.0.iter_mut().for_each(Redact::redact);
    }
}

impl Redact for HostRegistrationResponse {
    fn redact(&mut self) {
        self.host.redact();
    }
}

impl Redact for Cluster {
    fn redact(&mut self) {
        self.hosts.iter_mut().flatten().for_each(Redact::redact);
        self.image_info.download_url.clear();
    }
}

impl Redact for ClusterList {
    fn redact(&mut self) {
        self.0.iter_mut().for_each(Redact::redact);
    }
}

impl Redact for InfraEnv {
    fn redact(&mut self) {
        self.download_url.clear();
    }
}

impl Redact for InfraEnvList {
    fn redact(&mut self) {
        self.0.iter_mut().for_each(Redact::redact);
    }
}
