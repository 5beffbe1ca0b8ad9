//! Bundles: operators that make sense together (validations §8.5). Which operators are part of one stands with each.

use assisted_wire::operator::Bundle as Listed;

use super::by_name;
use super::definition::Membership;

/// A bundle of operators; lists are sorted.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    pub id: &'static str,
    pub title: &'static str,
    pub description: &'static str,
}

impl Bundle {
    fn members(&self, is: impl Fn(Membership) -> bool) -> Vec<&'static str> {
        by_name().into_iter().filter(|operator| is(operator.bundle)).map(|operator| operator.name).collect()
    }

    /// Operators that always come with the bundle.
    pub fn required(&self, single_node: bool) -> Vec<&'static str> {
        self.members(|member| match member {
            Membership::Required(id) => id == self.id,
            Membership::RequiredOfSeveralNodes(id) => id == self.id && !single_node,
            Membership::RequiredOfSingleNode(id) => id == self.id && single_node,
            Membership::Optional(_) | Membership::None => false,
        })
    }

    /// Operators that can be chosen with it.
    pub fn optional(&self) -> Vec<&'static str> {
        self.members(|member| member == Membership::Optional(self.id))
    }

    /// The bundle as the API lists it.
    pub fn listed(&self, single_node: bool) -> Listed {
        let texts = |names: Vec<&str>| Some(names.into_iter().map(str::to_owned).collect());
        Listed {
            id: self.id.to_owned(),
            title: self.title.to_owned(),
            description: self.description.to_owned(),
            operators: texts(self.required(single_node)),
            optional_operators: texts(self.optional()),
        }
    }
}

/// Every bundle.
pub const BUNDLES: &[Bundle] = &[
    Bundle {
        id: "virtualization",
        title: "Virtualization",
        description: "Run virtual machines alongside containers on one platform.",
    },
    Bundle {
        id: "openshift-ai",
        title: "OpenShift AI",
        description: "Train, serve, monitor and manage AI/ML models and applications using GPUs.",
    },
];

/// The bundle of an id.
pub fn find(id: &str) -> Option<&'static Bundle> {
    BUNDLES.iter().find(|bundle| bundle.id == id)
}
