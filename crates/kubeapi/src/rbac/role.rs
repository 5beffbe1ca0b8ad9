//! Roles and the rights in them, as values.

/// The rights of a process.
#[derive(Clone, Copy, Debug)]
pub struct Role {
    /// Name of the role.
    pub name: &'static str,
    /// Name of the account that has it.
    pub account: &'static str,
    pub accesses: &'static [Access],
}

/// A right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What for.
    pub why: &'static str,
    pub scope: Scope,
    /// API group; empty: that of pods and secrets.
    pub group: &'static str,
    pub resources: &'static [&'static str],
    pub verbs: &'static [&'static str],
    /// The objects that it is limited to; empty: all.
    pub names: &'static [&'static str],
}

/// Where a right holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// In all namespaces, and on what is in none.
    Cluster,
    /// In the namespace of the process.
    Namespace,
    /// In the namespace of this name.
    In(&'static str),
}

impl Access {
    /// The same right, limited to objects of these names.
    #[must_use]
    pub const fn named(self, names: &'static [&'static str]) -> Self {
        Self { names, ..self }
    }

    /// The same right, in the namespace of this name.
    #[must_use]
    pub const fn within(self, namespace: &'static str) -> Self {
        Self { scope: Scope::In(namespace), ..self }
    }
}

/// A right in all namespaces.
pub const fn cluster(
    why: &'static str,
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Access {
    Access { why, scope: Scope::Cluster, group, resources, verbs, names: &[] }
}

/// A right in the namespace of the process.
pub const fn namespaced(
    why: &'static str,
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Access {
    Access { scope: Scope::Namespace, ..cluster(why, group, resources, verbs) }
}
