//! Roles as manifests.

use std::fmt::Write as _;

use super::{Access, Role, Scope};

/// A role in YAML: account, ClusterRole, Role and what binds them, in a namespace.
pub fn manifest(role: &Role, namespace: &str) -> String {
    let Role { name, account, .. } = role;
    let own = format!("  namespace: {namespace}\n");
    let subjects =
        format!("subjects:\n- kind: ServiceAccount\n  name: {account}\n  namespace: {namespace}\n");
    let mut text =
        "# Made from the code: `cargo xtask bless -p assisted-kubeapi` writes it anew.\n".to_owned();
    let _ = write!(text, "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {account}\n{own}");
    for (scope, kind, place) in
        [(Scope::Cluster, "ClusterRole", ""), (Scope::Namespace, "Role", own.as_str())]
    {
        let accesses: Vec<_> = role.accesses.iter().filter(|access| access.scope == scope).collect();
        if accesses.is_empty() {
            continue;
        }
        let head = |kind: &str| {
            format!(
                "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n  name: {name}\n{place}"
            )
        };
        text.push_str(&head(kind));
        text.push_str("rules:\n");
        accesses.into_iter().for_each(|access| rule(access, &mut text));
        text.push_str(&head(&format!("{kind}Binding")));
        let _ = write!(
            text,
            "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: {name}\n{subjects}"
        );
    }
    text
}

fn rule(access: &Access, text: &mut String) {
    let list = |items: &[&str]| {
        let quoted: Vec<_> = items.iter().map(|item| format!("{item:?}")).collect();
        quoted.join(", ")
    };
    let _ = write!(
        text,
        "# {}\n- apiGroups: [{:?}]\n  resources: [{}]\n  verbs: [{}]\n",
        access.why,
        access.group,
        list(access.resources),
        list(access.verbs)
    );
    if !access.names.is_empty() {
        let _ = writeln!(text, "  resourceNames: [{}]", list(access.names));
    }
}
