//! The order of the crates: each may use only those below it. The order is that of docs/architecture.md, top first. Within
//! some crates the modules have an order, too ([`storeys`]), and within all it is known which files use each other in a circle
//! ([`circles`]).

mod circles;
mod sizes;
mod sources;
mod storeys;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::run::{cargo, print_line};

/// Crates from the top down.
const ORDER: &[&str] = &[
    "assisted",
    "assisted-host",
    "assisted-lab",
    "assisted-lab-machines",
    "assisted-lab-cluster",
    "assisted-simhost",
    "assisted-console",
    "assisted-controller",
    "assisted-installer",
    "assisted-agent",
    "assisted-hostinfo",
    "assisted-imageserver",
    "assisted-api",
    "assisted-ui",
    "assisted-capi",
    "assisted-kubeapi",
    "assisted-service",
    "assisted-reconcile",
    "assisted-backup",
    "assisted-import",
    "assisted-auth",
    "assisted-kube",
    "assisted-crd",
    "assisted-ocl",
    "assisted-bmc",
    "assisted-client",
    "assisted-dns",
    "assisted-release",
    "assisted-sink",
    "assisted-store",
    "assisted-blob",
    "assisted-seal",
    "assisted-isokit",
    "assisted-ignition",
    "assisted-netconf",
    "assisted-core",
    "assisted-ignition-spec",
    "assisted-config",
    "assisted-oci",
    "assisted-base",
    "assisted-wire",
    "assisted-lab-kinds",
    "assisted-lab-tools",
];

/// Crates that know no network and start no program: they have no use for the features of `assisted-base`.
const PURE: &[&str] = &[
    "assisted-isokit",
    "assisted-ignition",
    "assisted-netconf",
    "assisted-core",
    "assisted-ignition-spec",
    "assisted-config",
    "assisted-wire",
];

/// For tests and tasks only: linked into nothing that is shipped.
const TOOLS: &[&str] = &["assisted-fuzz", "assisted-package", "assisted-testkit", "xtask"];

/// What some crates must not link, directly or by way of others.
struct Ban {
    crates: &'static [&'static str],
    linked: &'static [&'static str],
    why: &'static str,
}

const BANS: &[Ban] = &[
    // No SQL, no Kubernetes, no TLS library but rustls.
    Ban {
        crates: &["assisted-host", "assisted-installer", "assisted-agent", "assisted-hostinfo"],
        linked: &["rusqlite", "libsqlite3-sys", "tokio-postgres", "kube", "openssl-sys", "native-tls"],
        why: "is too much for a host",
    },
    Ban {
        crates: &["assisted", "assisted-host"],
        linked: &[
            "assisted-lab-machines",
            "assisted-lab-cluster",
            "assisted-simhost",
            "assisted-lab-kinds",
            "assisted-lab-tools",
        ],
        why: "belongs to the lab, and not into production",
    },
];

/// Checks the order, and what must not be linked.
pub fn run() -> Result<()> {
    let output = cargo(&["metadata", "--format-version", "1"]).output()?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let mut wrong = order(&metadata)?;
    wrong.extend(banned(&metadata)?);
    if !wrong.is_empty() {
        bail!("the order of the crates is broken:\n  {}", wrong.join("\n  "));
    }
    print_line(&format!("crate order: {} crates, each uses only crates below it", ORDER.len()));
    for (sources, modules) in storeys::check()? {
        print_line(&format!("order within {sources}: {modules} modules, each uses only modules below it"));
    }
    let (files, in_circles) = circles::check()?;
    print_line(&format!("circles: {in_circles} of {files} files stand in some, none more than are known"));
    let long = sizes::check()?;
    print_line(&format!("sizes: no file is too long, and {long} functions are that may be"));
    Ok(())
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value[key].as_str().with_context(|| format!("cargo metadata has no {key}"))
}

fn order(metadata: &Value) -> Result<Vec<String>> {
    let place = |name: &str| ORDER.iter().position(|other| *other == name);
    let members: Vec<_> = metadata["workspace_members"].as_array().context("no members")?.iter().collect();
    let mut wrong = Vec::new();
    for package in metadata["packages"].as_array().context("no packages")? {
        if !members.contains(&&package["id"]) {
            continue;
        }
        let name = text(package, "name")?;
        if TOOLS.contains(&name) {
            continue;
        }
        let Some(own) = place(name) else {
            wrong.push(format!("{name} has no place in the order (xtask/src/check_deps/mod.rs)"));
            continue;
        };
        for dependency in package["dependencies"].as_array().context("no dependencies")? {
            let used = text(dependency, "name")?;
            let dev = dependency["kind"] == "dev";
            if TOOLS.contains(&used) && !dev {
                wrong.push(format!("{name} links {used}, which is for tests"));
            }
            let asked = dependency["features"].as_array().is_some_and(|features| !features.is_empty());
            if used == "assisted-base" && asked && !dev && PURE.contains(&name) {
                wrong.push(format!(
                    "{name} asks for features of {used}: it knows no network and starts nothing"
                ));
            }
            if place(used).is_some_and(|below| below <= own) && !dev {
                wrong.push(format!("{name} uses {used}, which is not below it"));
            }
        }
    }
    Ok(wrong)
}

/// The bans that the graph of dependencies breaks.
fn banned(metadata: &Value) -> Result<Vec<String>> {
    let nodes = metadata["resolve"]["nodes"].as_array().context("no resolve graph")?;
    let names: BTreeMap<&str, &str> = metadata["packages"]
        .as_array()
        .context("no packages")?
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package["name"].as_str()?)))
        .collect();
    let edges: BTreeMap<&str, Vec<&str>> = nodes
        .iter()
        .filter_map(|node| {
            let normal = |dep: &&Value| {
                dep["dep_kinds"]
                    .as_array()
                    .is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
            };
            let deps = node["deps"].as_array()?.iter().filter(normal).filter_map(|dep| dep["pkg"].as_str());
            Some((node["id"].as_str()?, deps.collect()))
        })
        .collect();
    let mut wrong = Vec::new();
    for (id, name) in &names {
        let bans: Vec<_> = BANS.iter().filter(|ban| ban.crates.contains(name)).collect();
        if bans.is_empty() {
            continue;
        }
        let linked = reachable(id, &edges);
        for Ban { linked: banned, why, .. } in bans {
            let found = linked.iter().filter_map(|id| names.get(id)).filter(|linked| banned.contains(linked));
            wrong.extend(found.map(|linked| format!("{name} links {linked}, which {why}")));
        }
    }
    Ok(wrong)
}

/// A package and all that it links.
fn reachable<'a>(id: &'a str, edges: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut queue = vec![id];
    while let Some(next) = queue.pop() {
        if seen.insert(next) {
            queue.extend(edges.get(next).into_iter().flatten());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_lab_is_found_behind_a_crate_between() {
        let package = |name: &str| json!({"id": name, "name": name});
        let depends = |name: &str, on: &str, kind: Option<&str>| json!({"id": name, "deps": [{"pkg": on, "dep_kinds": [{"kind": kind}]}]});
        let metadata = |kind| {
            json!({
                "packages": [package("assisted"), package("between"), package("assisted-simhost")],
                "resolve": {"nodes": [
                    depends("assisted", "between", None),
                    depends("between", "assisted-simhost", kind),
                    json!({"id": "assisted-simhost", "deps": []}),
                ]},
            })
        };
        let wrong = banned(&metadata(None)).unwrap_or_default();
        assert_eq!(
            wrong,
            ["assisted links assisted-simhost, which belongs to the lab, and not into production"]
        );
        // Its tests may use it.
        assert_eq!(banned(&metadata(Some("dev"))).unwrap_or_default(), Vec::<String>::new());
    }
}
