//! What is in a program: a list in SPDX 2.3, made of what Cargo says of the crates that are linked, and npm of the web UI.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::{digest, npm};

/// Media type of such a list.
pub const MEDIA_TYPE: &str = "application/spdx+json";

/// The crate that has the web UI in it.
const UI: &str = "assisted-ui";

/// What Cargo says, and npm.
#[derive(Clone, Debug)]
pub struct Crates {
    /// Answer of `cargo metadata --format-version 1 --filter-platform TRIPLE`.
    metadata: Value,
    /// Digests of the sources, by name and version.
    checksums: BTreeMap<(String, String), String>,
    /// The packages that the web UI is made of.
    ui: Vec<npm::Package>,
}

/// A list of what is in something.
pub struct Subject<'a> {
    /// Name of what it is about.
    pub name: &'a str,
    /// The crate whose program is in it.
    pub root: &'a str,
    /// When it was made, in RFC 3339.
    pub created: &'a str,
    /// Further files in it: name and file.
    pub others: &'a [(String, PathBuf)],
}

impl Crates {
    /// Reads what Cargo says, the file `Cargo.lock`, and the file `package-lock.json` of the web UI.
    ///
    /// # Errors
    /// It is not what Cargo or npm writes.
    pub fn read(metadata: &[u8], lock: &str, ui_lock: &str) -> Result<Self> {
        let metadata = serde_json::from_slice(metadata).context("cargo's metadata is no JSON")?;
        let lock: toml::Table = toml::from_str(lock).context("Cargo.lock is no TOML")?;
        let packages = lock.get("package").and_then(toml::Value::as_array).context("Cargo.lock is empty")?;
        let checksums = packages.iter().filter_map(|package| {
            let text = |key: &str| Some(package.get(key)?.as_str()?.to_owned());
            Some(((text("name")?, text("version")?), text("checksum")?))
        });
        Ok(Self { checksums: checksums.collect(), metadata, ui: npm::packages(ui_lock)? })
    }

    /// The list, in JSON; the same crates give the same bytes.
    ///
    /// # Errors
    /// The crate is not there.
    pub fn list(&self, subject: &Subject<'_>) -> Result<Vec<u8>> {
        let linked = self.linked(subject.root)?;
        let mut packages = vec![json!({
            "SPDXID": "SPDXRef-subject", "name": subject.name, "versionInfo": crate::VERSION,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": false, "licenseConcluded": "Apache-2.0",
            "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION",
        })];
        for package in &linked {
            packages.push(self.package(package)?);
        }
        if linked.iter().any(|package| package["name"] == UI) {
            packages.extend(self.ui.iter().map(of_npm));
        }
        for (name, file) in subject.others {
            packages.push(json!({
                "SPDXID": format!("SPDXRef-file-{}", id(name)), "name": name, "downloadLocation": "NOASSERTION",
                "filesAnalyzed": false, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
                "copyrightText": "NOASSERTION",
                "checksums": [{"algorithm": "SHA256", "checksumValue": digest::of_file(file)?}],
            }));
        }
        let contained = packages.iter().skip(1).map(|package| {
            json!({"spdxElementId": "SPDXRef-subject", "relationshipType": "CONTAINS", "relatedSpdxElement": package["SPDXID"]})
        });
        let described = json!({
            "spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-subject",
        });
        let relationships: Vec<_> = std::iter::once(described).chain(contained).collect();
        let unique = digest::sha256(json!([packages, relationships, subject.created]).to_string().as_bytes());
        let document = json!({
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": subject.name,
            "documentNamespace": format!("https://spdx.org/spdxdocs/{}-{unique}", id(subject.name)),
            "creationInfo": {"created": subject.created, "creators": [format!("Tool: assisted-package-{}", crate::VERSION)]},
            "packages": packages, "relationships": relationships,
        });
        Ok(serde_json::to_vec_pretty(&document)?)
    }

    /// The crates that a program is linked of, those that only build or test it apart, in the order of their names.
    fn linked(&self, root: &str) -> Result<Vec<&Value>> {
        let packages = self.metadata["packages"].as_array().context("cargo tells no packages")?;
        let by_id: BTreeMap<&str, &Value> =
            packages.iter().filter_map(|package| Some((package["id"].as_str()?, package))).collect();
        let nodes = self.metadata["resolve"]["nodes"].as_array().context("cargo tells no dependencies")?;
        let by_node: BTreeMap<&str, &Value> =
            nodes.iter().filter_map(|node| Some((node["id"].as_str()?, node))).collect();
        let member = |id: &&str| {
            let package = by_id.get(id);
            package.is_some_and(|package| package["name"] == root && package["source"].is_null())
        };
        let first =
            by_id.keys().copied().find(member).with_context(|| format!("there is no crate {root}"))?;
        let (mut seen, mut queue) = (BTreeSet::new(), vec![first]);
        while let Some(id) = queue.pop() {
            if !seen.insert(id) {
                continue;
            }
            let dependencies = by_node.get(id).and_then(|node| node["deps"].as_array()).into_iter().flatten();
            queue.extend(dependencies.filter(|one| is_linked(one)).filter_map(|one| one["pkg"].as_str()));
        }
        let mut found: Vec<_> = seen.into_iter().filter_map(|id| by_id.get(id).copied()).collect();
        found.sort_by_key(|package| (package["name"].as_str(), package["version"].as_str()));
        Ok(found)
    }

    fn package(&self, package: &Value) -> Result<Value> {
        let text =
            |key: &str| package[key].as_str().with_context(|| format!("cargo tells no {key} of a crate"));
        let (name, version) = (text("name")?, text("version")?);
        let license = package["license"].as_str().map_or("NOASSERTION".to_owned(), expression);
        let mut listed = json!({
            "SPDXID": format!("SPDXRef-crate-{}-{}", id(name), id(version)), "name": name, "versionInfo": version,
            "filesAnalyzed": false, "licenseConcluded": "NOASSERTION", "licenseDeclared": license,
            "copyrightText": "NOASSERTION", "downloadLocation": "NOASSERTION",
        });
        if !package["source"].is_null() {
            listed["downloadLocation"] =
                format!("https://crates.io/api/v1/crates/{name}/{version}/download").into();
            listed["externalRefs"] = json!([{
                "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                "referenceLocator": format!("pkg:cargo/{name}@{version}"),
            }]);
        }
        if let Some(sum) = self.checksums.get(&(name.to_owned(), version.to_owned())) {
            listed["checksums"] = json!([{"algorithm": "SHA256", "checksumValue": sum}]);
        }
        Ok(listed)
    }
}

/// A package of npm, as it is listed.
fn of_npm(package: &npm::Package) -> Value {
    let npm::Package { name, version, license, sha512 } = package;
    let file = name.rsplit('/').next().unwrap_or(name);
    let mut listed = json!({
        "SPDXID": format!("SPDXRef-npm-{}-{}", id(name), id(version)), "name": name, "versionInfo": version,
        "filesAnalyzed": false, "licenseConcluded": "NOASSERTION",
        "licenseDeclared": license.as_deref().unwrap_or("NOASSERTION"), "copyrightText": "NOASSERTION",
        "downloadLocation": format!("https://registry.npmjs.org/{name}/-/{file}-{version}.tgz"),
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator": format!("pkg:npm/{}@{version}", name.replace('@', "%40")),
        }],
    });
    if let Some(sum) = sha512 {
        listed["checksums"] = json!([{"algorithm": "SHA512", "checksumValue": sum}]);
    }
    listed
}

/// Whether a dependency is linked, and not only built or tested with.
fn is_linked(dependency: &Value) -> bool {
    let kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
    kinds.into_iter().any(|kind| kind["kind"].is_null())
}

/// A licence in the words of SPDX: old crates write a stroke for "or".
fn expression(license: &str) -> String {
    license.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ")
}

/// What may stand in an identifier of SPDX.
fn id(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_builds_or_tests_is_not_listed() {
        let package = |name: &str, source: Option<&str>| json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "source": source});
        let ui_lock =
            r#"{"packages": {"node_modules/@ui/core": {"version": "18.0.0", "integrity": "sha512-AAH/"}}}"#;
        let on = |name: &str, kind: Option<&str>| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let registry = Some("registry");
        let metadata = json!({
            "packages": [
                package("ours", None), package("linked", registry), package("below", registry), package("tests", registry),
                package(UI, None),
            ],
            "resolve": {"nodes": [
                {"id": "ours", "deps": [on("linked", None), on("tests", Some("dev"))]},
                {"id": "linked", "deps": [on("below", None), on("tests", Some("build"))]},
                {"id": "below", "deps": []}, {"id": "tests", "deps": []}, {"id": UI, "deps": [on("below", None)]},
            ]},
        });
        let lock = "[[package]]\nname = \"linked\"\nversion = \"1.0.0\"\nchecksum = \"0815\"\n";
        let crates = Crates::read(metadata.to_string().as_bytes(), lock, ui_lock).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join("oc");
        std::fs::write(&other, "x").unwrap();
        let others = [("oc".to_owned(), other)];
        let list = |root| {
            let subject = Subject { name: "it", root, created: "2026-01-01T00:00:00Z", others: &others };
            crates.list(&subject)
        };
        let text = list("ours").unwrap();
        assert_eq!(text, list("ours").unwrap());
        let document: Value = serde_json::from_slice(&text).unwrap();
        let names = |document: &Value| {
            let packages = document["packages"].as_array().unwrap();
            packages.iter().map(|package| package["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&document), ["it", "below", "linked", "ours", "oc"]);
        // What has the web UI in it has what that is made of.
        let with_ui: Value = serde_json::from_slice(&list(UI).unwrap()).unwrap();
        assert_eq!(names(&with_ui), ["it", UI, "below", "@ui/core", "oc"]);
        let core = &with_ui["packages"][3];
        assert_eq!(
            (&core["SPDXID"], &core["licenseDeclared"]),
            (&json!("SPDXRef-npm--ui-core-18.0.0"), &json!("NOASSERTION"))
        );
        assert_eq!(core["downloadLocation"], "https://registry.npmjs.org/@ui/core/-/core-18.0.0.tgz");
        assert_eq!(core["externalRefs"][0]["referenceLocator"], "pkg:npm/%40ui/core@18.0.0");
        assert_eq!(core["checksums"][0]["checksumValue"], "0001ff");
        let linked = &document["packages"][2];
        assert_eq!(linked["licenseDeclared"], "MIT OR Apache-2.0");
        assert_eq!(linked["checksums"][0]["checksumValue"], "0815");
        assert_eq!(document["packages"][3]["downloadLocation"], "NOASSERTION");
        assert!(list("nobody").is_err());
    }
}
