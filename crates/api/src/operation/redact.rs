//! What callers who may not see secrets are not shown: passwords of boards, and addresses that open something.

use assisted_service::Caller;
use assisted_wire::cluster::{Cluster, ClusterList};
use assisted_wire::host::{Host, HostList, HostRegistrationResponse};
use assisted_wire::infra_env::{InfraEnv, InfraEnvList};

/// An answer that may hold secrets.
pub(super) trait Conceal: Sized {
    /// Takes them out.
    fn conceal(&mut self);

    /// The answer as a caller sees it.
    fn for_caller(mut self, caller: &Caller) -> Self {
        if !caller.sees_secrets() {
            self.conceal();
        }
        self
    }
}

impl Conceal for Host {
    fn conceal(&mut self) {
        self.fencing_credentials.clear();
    }
}

impl Conceal for HostList {
    fn conceal(&mut self) {
        self.0.iter_mut().for_each(Conceal::conceal);
    }
}

impl Conceal for HostRegistrationResponse {
    fn conceal(&mut self) {
        self.host.conceal();
    }
}

impl Conceal for Cluster {
    fn conceal(&mut self) {
        self.hosts.iter_mut().flatten().for_each(Conceal::conceal);
        self.image_info.download_url.clear();
    }
}

impl Conceal for ClusterList {
    fn conceal(&mut self) {
        self.0.iter_mut().for_each(Conceal::conceal);
    }
}

impl Conceal for InfraEnv {
    fn conceal(&mut self) {
        self.download_url.clear();
    }
}

impl Conceal for InfraEnvList {
    fn conceal(&mut self) {
        self.0.iter_mut().for_each(Conceal::conceal);
    }
}
