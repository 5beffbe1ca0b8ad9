//! What the ids of host and of cluster validations have in common.

use std::fmt;
use std::str::FromStr;

use assisted_wire::cluster::ClusterValidationId;
use assisted_wire::host::HostValidationId;
pub use assisted_wire::validation::ValidationCategory as Category;

/// An id of a host's or of a cluster's validation.
pub trait ValidationId: Copy + Eq + Ord + fmt::Debug + fmt::Display + FromStr + 'static {
    /// `host` or `cluster`, for messages.
    const KIND: &'static str;
    /// Ids that a cluster can't ignore, even with `all` (validations §1.4).
    const NEVER_IGNORED: &'static [Self];

    /// Ids that are evaluated of some clusters only, here those in image mode; where they are not, nothing depends on them.
    const OF_SOME: &'static [Self];

    /// The id's text.
    fn text(self) -> &'static str;

    /// The id's place among all of its kind: each has its own, below 128.
    fn place(self) -> u32;

    /// Whether a category is stored sorted by id, rather than in the order of evaluation (validations §1.1).
    fn is_sorted(category: Category) -> bool;
}

impl ValidationId for HostValidationId {
    const KIND: &'static str = "host";
    const NEVER_IGNORED: &'static [Self] = &[
        Self::Connected,
        Self::HasInventory,
        Self::InventoryNotFullyTruncated,
        Self::MachineCidrDefined,
        Self::HostnameUnique,
        Self::HostnameValid,
    ];
    const OF_SOME: &'static [Self] = &[Self::OclDiskCompatible, Self::OclBuildResources];

    fn text(self) -> &'static str {
        self.as_str()
    }

    fn place(self) -> u32 {
        self as u32
    }

    fn is_sorted(category: Category) -> bool {
        category == Category::Operators
    }
}

impl ValidationId for ClusterValidationId {
    const KIND: &'static str = "cluster";
    const NEVER_IGNORED: &'static [Self] = &[
        Self::ApiVipsDefined,
        Self::IngressVipsDefined,
        Self::AllHostsAreReadyToInstall,
        Self::SufficientMastersCount,
        Self::PullSecretSet,
    ];
    const OF_SOME: &'static [Self] = &[
        Self::OclConfigurationValid,
        Self::OclMachineOsConfigsPresent,
        Self::OclSecretsPresent,
        Self::OclVersionSupported,
        Self::OclArchitectureUniform,
        Self::OclMachineConfigsCompatible,
        Self::OclRegistryReachableByNodes,
    ];

    fn text(self) -> &'static str {
        self.as_str()
    }

    fn place(self) -> u32 {
        self as u32
    }

    fn is_sorted(_: Category) -> bool {
        true
    }
}
