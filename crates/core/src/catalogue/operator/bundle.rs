//! Bundles: operators that make sense together (validations §8.5).

use assisted_wire::operator::Bundle as Listed;

/// A bundle of operators; lists are sorted.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    pub id: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    required: &'static [&'static str],
    required_single_node: &'static [&'static str],
    pub optional: &'static [&'static str],
}

impl Bundle {
    /// Operators that always come with the bundle.
    pub fn required(&self, single_node: bool) -> &'static [&'static str] {
        if single_node { self.required_single_node } else { self.required }
    }

    /// The bundle as the API lists it.
    pub fn listed(&self, single_node: bool) -> Listed {
        let texts = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        Listed {
            id: self.id.to_owned(),
            title: self.title.to_owned(),
            description: self.description.to_owned(),
            operators: texts(self.required(single_node)),
            optional_operators: texts(self.optional),
        }
    }
}

const VIRTUALIZATION: &[&str] = &[
    "cluster-observability",
    "cnv",
    "fence-agents-remediation",
    "kube-descheduler",
    "loki",
    "metallb",
    "mtv",
    "nmstate",
    "node-healthcheck",
    "node-maintenance",
    "numaresources",
    "oadp",
    "openshift-logging",
];

/// Every bundle.
pub const BUNDLES: &[Bundle] = &[
    Bundle {
        id: "virtualization",
        title: "Virtualization",
        description: "Run virtual machines alongside containers on one platform.",
        required: VIRTUALIZATION,
        required_single_node: VIRTUALIZATION,
        optional: &[],
    },
    Bundle {
        id: "openshift-ai",
        title: "OpenShift AI",
        description: "Train, serve, monitor and manage AI/ML models and applications using GPUs.",
        required: &["authorino", "odf", "openshift-ai", "pipelines", "serverless", "servicemesh"],
        required_single_node: &["lvm", "openshift-ai"],
        optional: &["amd-gpu", "nvidia-gpu"],
    },
];

/// The bundle of an id.
pub fn find(id: &str) -> Option<&'static Bundle> {
    BUNDLES.iter().find(|bundle| bundle.id == id)
}
