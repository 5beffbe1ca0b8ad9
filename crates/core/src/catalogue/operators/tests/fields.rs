//! Fields of objects against those that the reference lists (operators §4): its sections are read, so that each field that it
//! names is compared, and a field that it doesn't name is found.

use std::collections::BTreeSet;

use assisted_wire::host::HostRole::{Master, Worker};
use assisted_wire::inventory::DriveType;
use serde_json::json;

use super::*;
use crate::model::facts::Facts;
use crate::validation::testing::{disk, inventory};

/// The one label of machine configs, which their names tell too.
const ROLE: &str = "machineconfiguration.openshift.io/role";

/// Where ours is meant to differ from the replaced service (docs/adr/0015-one-operator-is-one-file.md).
const NAMESPACES_OF_OURS: [(&str, &str); 3] = [
    ("dpa-sample", "openshift-adp"),
    ("sample-monitoring-stack", "openshift-cluster-observability-operator"),
    ("example-thanos", "openshift-cluster-observability-operator"),
];

fn section(heading: &str) -> &'static str {
    let rest = REFERENCE.split(&format!("\n### {heading} ")).nth(1).unwrap();
    rest.split("\n### ").next().unwrap().split("\n---\n").next().unwrap()
}

/// A cluster of three masters that store, with operators.
pub(super) fn cluster(version: &str, operators: &[&str]) -> Facts {
    let disks = vec![disk("sda", DriveType::Ssd, 120), disk("sdb", DriveType::Ssd, 900)];
    let facts = facts(3).with_inventory(&inventory().disks(disks)).with_roles(&[Master; 3]);
    let mut facts = facts.with_operators(operators);
    for host in &mut facts.hosts {
        host.record.host.installation_disk_id = "/dev/disk/by-id/sda".to_owned();
    }
    facts.with_cluster(|cluster| version.clone_into(&mut cluster.openshift_version))
}

pub(super) fn single_node(facts: Facts) -> Facts {
    let mut facts = facts.with_cluster(|cluster| cluster.control_plane_count = 1);
    facts.hosts.truncate(1);
    facts
}

/// Everything that is made for a cluster, at its installation and afterwards.
pub(super) fn made(facts: &Facts) -> Vec<Value> {
    let view = ClusterView::of(facts).unwrap();
    let installed = subscription::manifests(&view).into_iter().map(|(_, object)| object);
    let applied = subscription::objects(&view).into_iter().flat_map(|objects| objects.documents);
    installed.chain(applied).collect()
}

/// The value at a path of dots and indices; names may have dots themselves.
fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if path.is_empty() {
        return Some(value);
    }
    if let Some(rest) = path.strip_prefix('[') {
        let (index, rest) = rest.split_once(']')?;
        return at(value.get(index.parse::<usize>().ok()?)?, rest.trim_start_matches('.'));
    }
    let ends = path.char_indices().filter(|(_, c)| matches!(c, '.' | '[')).map(|(end, _)| end);
    ends.chain([path.len()]).find_map(|end| {
        let inner = value.get(&path[..end])?;
        at(inner, path[end..].trim_start_matches('.'))
    })
}

/// Whether a value is what the reference gives, whose members may be paths, and whose `<…>` stand for anything.
fn is_given(found: &Value, given: &Value) -> bool {
    match given {
        Value::String(text) if text.contains('<') => found.is_string(),
        Value::Object(members) => {
            let all = members
                .iter()
                .all(|(path, value)| at(found, path).is_some_and(|found| is_given(found, value)));
            let named = members.keys().map(|path| path.split('.').next().unwrap());
            let heads: BTreeSet<_> = members.keys().map(String::as_str).chain(named).collect();
            all && found.as_object().is_some_and(|found| found.keys().all(|key| heads.contains(key.as_str())))
        }
        Value::Array(items) => found.as_array().is_some_and(|found| {
            found.len() == items.len() && found.iter().zip(items).all(|(found, given)| is_given(found, given))
        }),
        plain => found == plain,
    }
}

/// An object, and which of its fields the reference has named.
struct Compared<'a> {
    object: &'a Value,
    named: BTreeSet<String>,
}

impl<'a> Compared<'a> {
    fn of(all: &'a [Value], name: &str) -> Self {
        Self { object: find_object(all, name).unwrap_or_else(|| panic!("no {name}")), named: BTreeSet::new() }
    }

    fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap()
    }

    /// The reference gives a value to a path.
    fn holds(&mut self, path: &str, given: &Value) {
        let found = at(self.object, path);
        let holds = found.is_some_and(|found| is_given(found, given));
        assert!(holds, "{}: {path} is {found:?}, the reference says {given}", self.name());
        self.named.insert(path.to_owned());
    }

    /// The reference says `path: value`, in YAML; below a prefix.
    fn says(&mut self, prefix: &str, text: &str) {
        let said: Value = serde_yaml_ng::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let Some((path, value)) =
            said.as_object().filter(|_| !text.starts_with('{')).and_then(|said| said.iter().next())
        else {
            return self.holds(prefix, &said);
        };
        let path = if prefix.is_empty() { path.clone() } else { format!("{prefix}.{path}") };
        self.holds(&path, value);
    }

    /// Nothing has been left that the reference doesn't name.
    fn ends(&self) {
        let mut left = Vec::new();
        for (member, value) in self.object.as_object().unwrap() {
            if !matches!(member.as_str(), "apiVersion" | "kind" | "metadata") {
                self.leaves(member, value, &mut left);
            }
        }
        assert!(left.is_empty(), "{} has fields that the reference doesn't name: {left:?}", self.name());
        if let Some(role) = self.object["metadata"]["labels"].get(ROLE) {
            assert!(self.name().contains(role.as_str().unwrap()), "{}", self.name());
        }
    }

    fn leaves(&self, path: &str, value: &Value, left: &mut Vec<String>) {
        if self.named.contains(path) {
            return;
        }
        match value {
            Value::Object(members) if !members.is_empty() => {
                for (name, value) in members {
                    self.leaves(&format!("{path}.{name}"), value, left);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    self.leaves(&format!("{path}[{index}]"), value, left);
                }
            }
            _ => left.push(path.to_owned()),
        }
    }
}

fn find_object<'a>(all: &'a [Value], name: &str) -> Option<&'a Value> {
    let (namespace, name) =
        name.split_once('/').map_or((None, name), |(first, second)| (Some(first), second));
    let of_olm = |object: &Value| {
        ["Namespace", "OperatorGroup", "Subscription"].iter().any(|kind| object["kind"] == *kind)
    };
    all.iter().find(|object| {
        let is_there = namespace.is_none_or(|namespace| object["metadata"]["namespace"] == namespace);
        object["metadata"]["name"] == name && is_there && !of_olm(object)
    })
}

fn is_api_version(text: &str) -> bool {
    !text.contains(' ')
        && text.split_once("/v").is_some_and(|(group, version)| {
            group.contains('.') && version.starts_with(|c: char| c.is_ascii_digit())
        })
}

/// Reads a text that names objects, each before its fields: `group/version` Kind `name`: `path: value`, …
fn compare(text: &str, all: &[Value], seen: &mut BTreeSet<String>) {
    let mut current: Vec<Compared<'_>> = Vec::new();
    let (mut api_version, mut in_names, mut prefix) = ("", false, "");
    for token in code(text) {
        if is_api_version(token) {
            api_version = token;
        } else if !token.contains(": ") && find_object(all, token).is_some() {
            if !in_names {
                current.iter().for_each(Compared::ends);
                current.clear();
            }
            let next = Compared::of(all, token);
            assert!(
                api_version.is_empty() || next.object["apiVersion"] == api_version,
                "{token}: {api_version}"
            );
            let own = NAMESPACES_OF_OURS.iter().find(|(name, _)| *name == token);
            let namespaced = next.object["metadata"].get("namespace");
            assert_eq!(
                own.map(|(_, namespace)| *namespace),
                namespaced.and_then(Value::as_str).filter(|_| own.is_some())
            );
            seen.insert(next.name().to_owned());
            current.push(next);
            (api_version, in_names, prefix) = ("", true, "");
        } else if token.starts_with("spec") && !token.contains(": ") {
            prefix = token;
        } else if !prefix.is_empty() {
            current.iter_mut().for_each(|each| each.says(prefix, token));
        } else if let Some((key, value)) =
            token.split_once(": ").filter(|(path, _)| !path.starts_with("spec"))
        {
            // Labels, where they are not the role.
            in_names = false;
            for each in current.iter_mut().filter(|_| key != ROLE) {
                match each.object["metadata"]["labels"].get(key) {
                    Some(label) => assert_eq!(label, value, "{}", each.name()),
                    None => each.says("", token),
                }
            }
        } else if token.contains(": ") {
            in_names = false;
            current.iter_mut().for_each(|each| each.says("", token));
        }
    }
    current.iter().for_each(Compared::ends);
}

#[test]
fn constant_objects() {
    let names: Vec<_> = OPERATORS.iter().map(|operator| operator.name).collect();
    let all = made(&cluster("4.20.1", &names));
    let mut seen = BTreeSet::new();
    compare(section("4.1"), &all, &mut seen);
    compare(section("4.4").split(" No `default`").next().unwrap(), &all, &mut seen);
    for row in table(REFERENCE, "### 4.5 ", "Operator") {
        assert!(find(&row[0]).is_some(), "{row:?}");
        // What a row says of an object's place is no field of it; one object has another name here (record 15).
        let text = row[1]
            .replace("(metadata.namespace `openshift-sandboxed-containers-operator` is given)", "")
            .replace("Operator `numaresources`", "Operator `numaresourcesoperator`");
        compare(&text, &all, &mut seen);
    }
    let engine = table(REFERENCE, "### 4.6 ", "Object");
    compare(&format!("{} {}", engine[0][0], engine[0][1]), &all, &mut seen);
    let single = single_node(cluster("4.10.3", &["cnv"]));
    for (row, all) in
        table(REFERENCE, "### 4.3 ", "Object").iter().zip([&all, &made(&single), &all, &made(&single)])
    {
        let text = format!("{} {}", row[0], row[1]);
        let text = text.replace("annotation `", "`metadata.annotations.");
        compare_fields(&text, all, &mut seen);
    }
    assert_eq!(seen.len(), 1 + 1 + 9 + 1 + 5, "{seen:?}");
}

/// As [`compare`], of objects whose fields may lie anywhere.
fn compare_fields(text: &str, all: &[Value], seen: &mut BTreeSet<String>) {
    let names: Vec<_> = code(text).into_iter().filter(|token| find_object(all, token).is_some()).collect();
    for name in names {
        let mut compared = Compared::of(all, name);
        for token in code(text).into_iter().filter(|token| token.contains(": ") && !token.starts_with(ROLE)) {
            compared.says("", token);
        }
        compared.ends();
        seen.insert(compared.name().to_owned());
    }
}

#[test]
fn storage_of_the_multicluster_engine() {
    let row = &table(REFERENCE, "### 4.6 ", "Object")[1];
    for (storage, class) in [("odf", "ocs-storagecluster-cephfs"), ("lvm", "lvms-vg1")] {
        let all = made(&cluster("4.20.1", &["mce", storage]));
        let mut object = Compared::of(&all, "agent");
        assert_eq!(object.object["apiVersion"], code(&row[0])[0]);
        let tokens = code(&row[1]);
        let members = tokens[0].trim_start_matches("spec.{").trim_end_matches('}').split(',');
        let sizes = &tokens[4..7];
        assert_eq!(tokens[3], "resources.requests.storage");
        for (member, size) in members.zip(sizes) {
            object.holds(&format!("spec.{member}.storageClassName"), &json!(class));
            object.says(&format!("spec.{member}"), tokens[2]);
            object.holds(&format!("spec.{member}.resources.requests.storage"), &json!(size));
        }
        object.ends();
    }
}

/// What a cell lists in order: `code`, or a word in bold that stands for a number.
fn listed(cell: &str, between: &str) -> Vec<Option<Value>> {
    let one = |part: &str| code(part).first().map(|text| serde_yaml_ng::from_str(text).unwrap());
    cell.split(between).map(one).collect()
}

#[test]
fn data_foundation() {
    let system = rows(section("4.2"), "#")[0][1].clone();
    let of = |version: &str| made(&cluster(version, &["odf", "lso"]));
    compare(&system, &of("4.18.0-rc.1"), &mut BTreeSet::new());
    for version in ["4.8.12", "4.8.0-fc.1", "4.19.0", "4.20.1"] {
        assert!(find_object(&of(version), "ocs-storagecluster-storagesystem").is_none(), "{version}");
    }
    let standard = |facts: Facts| {
        let mut facts = facts;
        let workers = [Master, Master, Master, Worker, Worker, Worker];
        let more = cluster("4.20.1", &["odf"]).hosts;
        facts.hosts.extend(more);
        for (n, host) in facts.hosts.iter_mut().enumerate() {
            host.record.host.id = crate::validation::testing::host_id(n + 1);
        }
        facts.with_roles(&workers)
    };
    let devices = "spec.storageDeviceSets[0]";
    for is_compact in [true, false] {
        let facts = cluster("4.20.1", &["odf", "lso"]);
        let all = made(&if is_compact { facts } else { standard(facts) });
        let mut object = Compared::of(&all, "openshift-storage/ocs-storagecluster");
        for row in table(section("4.2"), "StorageCluster, both modes", "Path") {
            let paths = code(&row[0]);
            let full = |path: &str| match path.strip_prefix('.') {
                Some(path) => format!("{devices}.{path}"),
                None if path.starts_with("spec") => path.to_owned(),
                None => format!("spec.{path}"),
            };
            let placed = paths
                .iter()
                .find(|path| path.starts_with(".nodeAffinity") || path.starts_with(".podAntiAffinity"));
            if let Some(placed) = placed {
                for (kind, app) in
                    [("placement", "rook-ceph-osd"), ("preparePlacement", "rook-ceph-osd-prepare")]
                {
                    let path = format!("{devices}.{kind}{placed}");
                    let said = code(&row[1]).into_iter().filter(|text| text.contains(": "));
                    said.for_each(|text| {
                        object.says(&path, &text.replace("[rook-ceph-osd]", &format!("[{app}]")));
                    });
                }
            } else if row[1].contains("one element") {
                assert_eq!(object.object["spec"]["storageDeviceSets"].as_array().map(Vec::len), Some(1));
            } else if paths.len() > 1 {
                let between = if row[1].contains(" / ") { " / " } else { ", " };
                // Three disks: one of each host, its installation disk apart.
                let values = listed(&row[1], between);
                assert_eq!(values.len(), paths.len(), "{row:?}");
                for (path, value) in paths.iter().zip(values) {
                    object.holds(&full(path), &value.unwrap_or(json!(3)));
                }
            } else {
                code(&row[1]).into_iter().for_each(|text| object.says(&full(paths[0]), text));
            }
        }
        for row in table(section("4.2"), "Compact mode only", "Path") {
            let path = code(&row[0])[0];
            if is_compact {
                for (member, cell) in [("limits", &row[1]), ("requests", &row[2])] {
                    let [cpu, memory] = code(cell)[..] else { panic!("{cell}") };
                    object.holds(&format!("{path}.{member}.cpu"), &json!(cpu.trim_matches('"')));
                    object.holds(&format!("{path}.{member}.memory"), &json!(memory));
                }
            } else {
                assert_eq!(at(object.object, path), None, "{path}");
            }
        }
        object.ends();
    }
}

#[test]
fn features_of_nodes() {
    let all = made(&cluster("4.20.1", &["node-feature-discovery"]));
    for row in table(REFERENCE, "### 4.7 ", "X") {
        let name = code(&row[0])[0];
        let mut expressions = json!({});
        for (attribute, cell) in
            ["vendor", "device", "subsystem_vendor", "subsystem_device"].iter().zip(&row[1..])
        {
            if let Some(values) = code(cell).first() {
                expressions[attribute] = json!({"op": "In", "value": values.split(' ').collect::<Vec<_>>()});
            }
        }
        let rule = json!({
            "name": name, "labels": {format!("feature.node.kubernetes.io/{name}"): "true"},
            "matchFeatures": [{"feature": "pci.device", "matchExpressions": expressions}],
        });
        let object = find_object(&all, name).unwrap();
        assert_eq!(object["spec"], json!({"rules": [rule]}), "{name}");
        assert_eq!(object["metadata"]["namespace"], "openshift-nfd");
    }
    let last = section("4.7").split("\nLast: ").nth(1).unwrap();
    let (fields, data) = last.split_once(" = text holding the YAML ").unwrap();
    let mut object = Compared::of(&all, "nfd-instance");
    code(fields).into_iter().filter(|text| text.contains(": ")).for_each(|text| object.says("", text));
    let text = object.object["spec"]["workerConfig"]["configData"].as_str().unwrap();
    let held: Value = serde_yaml_ng::from_str(text).unwrap();
    let held = json!({"metadata": {"name": "nfd-instance"}, "held": held});
    let mut inner = Compared { object: &held, named: BTreeSet::new() };
    code(data).into_iter().for_each(|text| inner.says("held", text));
    inner.ends();
    object.named.insert("spec.workerConfig.configData".to_owned());
    object.ends();
}

#[test]
fn gpus() {
    let all = made(&cluster("4.20.1", &["nvidia-gpu", "amd-gpu"]));
    let mut object = Compared::of(&all, "gpu-cluster-policy");
    for row in table(REFERENCE, "### 4.8 ", "`spec.`") {
        for member in code(&row[0]) {
            code(&row[1]).into_iter().for_each(|text| object.says(&format!("spec.{member}"), text));
        }
    }
    object.ends();
    let rows = table(REFERENCE, "### 4.9 ", "#");
    let source = "data:text/plain;base64,YmxhY2tsaXN0IGFtZGdwdQo=";
    for name in ["99-amdgpu-module-blacklist-worker", "99-amdgpu-module-blacklist-master"] {
        assert!(rows[0][1].contains("`99-amdgpu-module-blacklist-worker`, then `…-master`"));
        let said = code(&rows[0][2]);
        let file = json!({"path": said[0], "mode": 420, "overwrite": true, "contents": {"source": source}});
        assert!(rows[0][2].contains("mode 420") && said[1] == "overwrite: true");
        let config = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [file]}});
        assert_eq!(find_object(&all, name).unwrap()["spec"], json!({"config": config}), "{name}");
    }
    compare(&format!("{} {}", rows[1][1], rows[1][2]), &all, &mut BTreeSet::new());
}

#[test]
fn artificial_intelligence() {
    let several = made(&cluster("4.20.1", &["openshift-ai", "amd-gpu", "nvidia-gpu"]));
    let single = made(&single_node(cluster("4.20.1", &["openshift-ai", "lvm"])));
    assert!(find_object(&single, "redhat-ods-applications/amd-gpu").is_none());
    let rows = table(REFERENCE, "### 4.10 ", "#");
    let profile = section("4.10").split("\nHardwareProfile: ").nth(1).unwrap().lines().next().unwrap();
    for row in [&rows[0], &rows[3]] {
        let [resource, title] = code(&row[2])[..] else { panic!("{row:?}") };
        let text = profile.replace("<id>", resource).replace("<name>", title);
        let name = format!("redhat-ods-applications/{}", code(&row[1])[0]);
        let mut object = Compared::of(&several, &name);
        code(&text)
            .into_iter()
            .filter(|text| text.starts_with("spec."))
            .for_each(|text| object.says("", text));
        object.ends();
    }
    for (all, is_single) in [(&several, false), (&single, true)] {
        let mut object = Compared::of(all, "default-dsc");
        let states = rows[1][2].split("`: ").nth(1).unwrap();
        for part in states.split("; **SNO").next().unwrap().split("; ") {
            let (state, components) = part.split_once(" for ").unwrap();
            for component in components.split(", ") {
                let state = if component == "kserve" && is_single { "Removed" } else { state };
                object.holds(&format!("spec.components.{component}.managementState"), &json!(state));
            }
        }
        let serving = code(&rows[1][2]).into_iter().find(|text| text.starts_with("kserve.serving")).unwrap();
        object.says("spec.components", serving);
        object.ends();
        let mut object = Compared::of(all, "default-dsci");
        for text in code(&rows[2][2]) {
            let text = if is_single && text.starts_with("spec.serviceMesh") {
                text.replace("Managed", "Removed")
            } else {
                text.to_owned()
            };
            object.says("", &text);
        }
        object.ends();
    }
}

#[test]
fn descheduling() {
    for row in table(REFERENCE, "### 4.11 ", "cnv selected") {
        let operators: &[&str] =
            if row[0] == "yes" { &["kube-descheduler", "cnv"] } else { &["kube-descheduler"] };
        let version = match row[1].trim_start_matches(">= ") {
            "any" => "4.20.1",
            // A version that the replaced service treats as 4.16 by mistake is not copied.
            text if text.starts_with("<= ") => "4.16.3",
            text => text,
        };
        let all = made(&cluster(version, operators));
        let mut object = Compared::of(&all, "openshift-kube-descheduler-operator/cluster");
        let always = section("4.11").split("always ").nth(1).unwrap().split(", and").next().unwrap();
        for text in code(always) {
            object.says(if text.starts_with("spec.") { "" } else { "spec" }, text);
        }
        for (member, cell) in ["mode", "deschedulingIntervalSeconds"].iter().zip(&row[2..4]) {
            let given: Value = serde_yaml_ng::from_str(cell.trim_matches('`')).unwrap();
            object.holds(&format!("spec.{member}"), &given);
        }
        object.holds("spec.profiles", &json!(code(&row[4])));
        code(&row[5]).into_iter().for_each(|text| object.says("spec.profileCustomizations", text));
        object.ends();
        let measured = all.iter().filter(|each| each["spec"]["kernelArguments"] == json!(["psi=1"])).count();
        let wanted = if row[0] == "yes" && version != "4.16.3" { 2 } else { 0 };
        assert_eq!(measured, wanted, "{version}");
    }
    let all = made(&cluster("4.17.3", &["kube-descheduler", "cnv"]));
    let object = find_object(&all, "openshift-kube-descheduler-operator/cluster").unwrap();
    assert_eq!(object["spec"]["profiles"][0], "LongLifecycle");
}
