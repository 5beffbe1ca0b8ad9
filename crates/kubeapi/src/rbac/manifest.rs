//! Roles as manifests.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Access, Role, Scope};

/// What stands above each manifest.
const MADE: &str = "# Made from the code: `cargo xtask bless -p assisted-kubeapi` writes it anew.\n";

/// A role in YAML: account, ClusterRole, Roles and what binds them, in a namespace.
pub fn manifest(role: &Role, namespace: &str) -> String {
    let own = format!("  namespace: {namespace}\n");
    let mut text = MADE.to_owned();
    let _ = write!(text, "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {}\n{own}", role.account);
    roles(role, namespace, &own, &mut text);
    text
}

/// Further rights of an account that is in this namespace, for who wants what they are needed for; those in no certain namespace hold in
/// the one in which the manifest is applied.
pub fn further(role: &Role, namespace: &str) -> String {
    let mut text = MADE.to_owned();
    roles(role, namespace, "", &mut text);
    text
}

/// Roles, each with what binds it to the account.
fn roles(role: &Role, namespace: &str, own: &str, text: &mut String) {
    let Role { name, account, .. } = role;
    let subjects =
        format!("subjects:\n- kind: ServiceAccount\n  name: {account}\n  namespace: {namespace}\n");
    let scopes: BTreeSet<Scope> = role.accesses.iter().map(|access| access.scope).collect();
    for scope in scopes {
        let (kind, place) = match scope {
            Scope::Cluster => ("ClusterRole", String::new()),
            Scope::Namespace => ("Role", own.to_owned()),
            Scope::In(other) => ("Role", format!("  namespace: {other}\n")),
        };
        let accesses = role.accesses.iter().filter(|access| access.scope == scope);
        let head = |kind: &str| {
            format!(
                "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n  name: {name}\n{place}"
            )
        };
        text.push_str(&head(kind));
        text.push_str("rules:\n");
        accesses.for_each(|access| rule(access, text));
        text.push_str(&head(&format!("{kind}Binding")));
        let _ = write!(
            text,
            "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: {name}\n{subjects}"
        );
    }
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
