//! What the ids of host and of cluster validations have in common.

use std::fmt;
use std::str::FromStr;

use assisted_wire::cluster::ClusterValidationId;
use assisted_wire::host::HostValidationId;
use serde::{Deserialize, Serialize};

/// The heading under which the API shows a validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    // In alphabetical order, as they are stored.
    Configuration,
    Hardware,
    HostsData,
    Network,
    Operators,
}

impl Category {
    /// Every category, in the order in which they are stored.
    pub const ALL: [Self; 5] =
        [Self::Configuration, Self::Hardware, Self::HostsData, Self::Network, Self::Operators];

    /// The category's text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Hardware => "hardware",
            Self::HostsData => "hosts-data",
            Self::Network => "network",
            Self::Operators => "operators",
        }
    }
}

/// An id of a host's or of a cluster's validation.
pub trait ValidationId: Copy + Eq + Ord + fmt::Debug + fmt::Display + FromStr + 'static {
    /// `host` or `cluster`, for messages.
    const KIND: &'static str;
    /// Ids that a cluster can't ignore, even with `all` (validations §1.4).
    const NEVER_IGNORED: &'static [Self];

    /// The id's text.
    fn text(self) -> &'static str;

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

    fn text(self) -> &'static str {
        self.as_str()
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

    fn text(self) -> &'static str {
        self.as_str()
    }

    fn is_sorted(_: Category) -> bool {
        true
    }
}
