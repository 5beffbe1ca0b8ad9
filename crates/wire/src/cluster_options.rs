//! The choices that clusters and the requests about them share.

use crate::text_enum;

text_enum! {
    #[schemars(inline)]
    pub enum HighAvailabilityMode {
        Full = "Full",
        None = "None",
    }
}

text_enum! {
    #[schemars(inline)]
    pub enum RoleSet {
        None = "none",
        Masters = "masters",
        Arbiters = "arbiters",
        Workers = "workers",
        MastersAndArbiters = "masters,arbiters",
        MastersAndWorkers = "masters,workers",
        ArbitersAndWorkers = "arbiters,workers",
        MastersAndArbitersAndWorkers = "masters,arbiters,workers",
        All = "all",
    }
}

text_enum! {
    #[schemars(inline)]
    pub enum NetworkType {
        OpenShiftSDN = "OpenShiftSDN",
        OVNKubernetes = "OVNKubernetes",
        CiscoACI = "CiscoACI",
        Cilium = "Cilium",
        Calico = "Calico",
        None = "None",
    }
}

text_enum! {
    #[schemars(inline)]
    pub enum CpuArchitecture {
        X8664 = "x86_64",
        Aarch64 = "aarch64",
        Arm64 = "arm64",
        Ppc64le = "ppc64le",
        S390x = "s390x",
        Multi = "multi",
    }
}
