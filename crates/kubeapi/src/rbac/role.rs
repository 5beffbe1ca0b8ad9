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

/// A right in all namespaces.
pub const fn cluster(
    why: &'static str,
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Access {
    Access { why, scope: Scope::Cluster, group, resources, verbs, names: &[] }
}

/// A right on objects of these names in all namespaces.
pub const fn cluster_named(
    why: &'static str,
    group: &'static str,
    resources: &'static [&'static str],
    names: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Access {
    Access { names, ..cluster(why, group, resources, verbs) }
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

/// A right on objects of these names in the namespace of the process.
pub const fn namespaced_named(
    why: &'static str,
    group: &'static str,
    resources: &'static [&'static str],
    names: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Access {
    Access { scope: Scope::Namespace, ..cluster_named(why, group, resources, names, verbs) }
}

/// A right on objects of these names in a namespace.
pub const fn within_named(
    why: &'static str,
    place: &'static str,
    resources: &'static [&'static str],
    names: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Access {
    Access { scope: Scope::In(place), ..cluster_named(why, "", resources, names, verbs) }
}
