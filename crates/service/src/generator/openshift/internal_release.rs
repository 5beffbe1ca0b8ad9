//! Clusters that carry their release with them (install-generation §9.4): whatever is mirrored is also served by the nodes
//! themselves, at the name of the cluster's own API, and on the machine that bootstraps at its own name.

use assisted_ignition::install::{EditError, Tree};
use assisted_wire::cluster::Cluster;
use serde_json::{Value, json};

use super::manifests::{OverlaidManifest, documents};

/// Marks what was edited already.
const DONE: &str = "internalreleaseimage.openshift.io/patched";
const PORT: u16 = 22625;
const REGISTRIES: &str = "/etc/containers/registries.conf";

/// Why a manifest or a config can't be edited.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServedError {
    #[error("{name} can't be edited for the internal release image: {source}")]
    Manifest { name: String, source: serde_yaml_ng::Error },
    #[error("{REGISTRIES} of the bootstrap config can't be edited for the internal release image: {0}")]
    Registries(String),
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// Whether the cluster carries its release.
pub(super) fn is_served(given: &[OverlaidManifest]) -> bool {
    let is_given =
        |object: &Value| object["kind"] == "InternalReleaseImage" && object["metadata"]["name"] == "cluster";
    given.iter().flat_map(objects).any(|(_, object)| is_given(&object))
}

/// Has the manifests name the places that the nodes serve, if they serve any.
pub(super) fn serve(given: &mut [OverlaidManifest], cluster: &Cluster) -> Result<(), ServedError> {
    if !is_served(given) {
        return Ok(());
    }
    let places = RegistryAddresses::of(cluster);
    for given in given {
        let mut edited = false;
        let mut texts = Vec::new();
        for (mut text, mut object) in objects(given) {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            if places.add_to(&mut object) {
                edited = true;
                let failed = |source| ServedError::Manifest { name: given.name.clone(), source };
                texts.push(serde_yaml_ng::to_string(&object).map_err(failed)?);
            } else {
                texts.push(text);
            }
        }
        if edited {
            given.content = texts.join("---\n").into();
        }
    }
    Ok(())
}

/// Has the bootstrap host find its images at the same places.
pub(super) fn serve_bootstrap(tree: &mut Tree, cluster: &Cluster) -> Result<(), ServedError> {
    let unreadable = |error: &dyn std::fmt::Display| ServedError::Registries(error.to_string());
    let text = tree.content(REGISTRIES).ok_or_else(|| EditError::Unreadable(REGISTRIES.to_owned()))?;
    let text = std::str::from_utf8(&text).map_err(|error| unreadable(&error))?;
    let mut conf: toml::Table = toml::from_str(text).map_err(|error| unreadable(&error.message()))?;
    let places = RegistryAddresses::of(cluster);
    let registries = conf.get_mut("registry").and_then(toml::Value::as_array_mut);
    for registry in registries.into_iter().flatten() {
        let Some(mirrors) = registry.get_mut("mirror").and_then(toml::Value::as_array_mut) else { continue };
        let named = mirrors.iter().filter_map(|mirror| mirror.get("location")?.as_str());
        let further: Vec<_> = named.flat_map(|location| places.both(location)).collect();
        mirrors.extend(further.into_iter().map(|location| {
            let mirror = [("location", location.into()), ("insecure", false.into())];
            toml::Value::Table(mirror.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
        }));
    }
    let text = toml::to_string(&conf).map_err(|error| unreadable(&error))?;
    Ok(tree.replace(REGISTRIES, text.as_bytes())?)
}

/// The documents of a manifest that hold objects, as they stand and as they are read.
fn objects(given: &OverlaidManifest) -> Vec<(String, Value)> {
    let text = std::str::from_utf8(&given.content).unwrap_or_default();
    let read = |text: String| serde_yaml_ng::from_str(&text).ok().map(|object| (text, object));
    let read: Vec<_> = documents(text).into_iter().map(read).collect();
    // A patch, or something that can't be read whole, stays as it is.
    read.into_iter().collect::<Option<_>>().unwrap_or_default()
}

/// Where nodes serve images.
struct RegistryAddresses {
    api: String,
}

const LOCAL: &str = "localhost";

impl RegistryAddresses {
    fn of(cluster: &Cluster) -> Self {
        Self { api: format!("api-int.{}.{}:{PORT}", cluster.name, cluster.base_dns_domain) }
    }

    fn at_api(&self, image: &str) -> String {
        with_host(image, &self.api)
    }

    fn both(&self, image: &str) -> [String; 2] {
        [self.at_api(image), with_host(image, &format!("{LOCAL}:{PORT}"))]
    }

    /// Adds the places to an object that names images; false where there is nothing to add, or it was done before.
    fn add_to(&self, object: &mut Value) -> bool {
        if object["metadata"]["annotations"].get(DONE).is_some() {
            return false;
        }
        let edited = match object["kind"].as_str() {
            Some("ImageDigestMirrorSet") => self.add_mirrors(object, "/spec/imageDigestMirrors"),
            Some("ImageTagMirrorSet") => self.add_mirrors(object, "/spec/imageTagMirrors"),
            Some("ClusterCatalog") => self.move_image(object, "/spec/source/image/ref"),
            Some("CatalogSource") => self.move_image(object, "/spec/image"),
            _ => false,
        };
        if edited {
            if !object["metadata"]["annotations"].is_object() {
                object["metadata"]["annotations"] = json!({});
            }
            object["metadata"]["annotations"][DONE] = "".into();
        }
        edited
    }

    fn add_mirrors(&self, object: &mut Value, list: &str) -> bool {
        let mut edited = false;
        for set in object.pointer_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(mirrors) = set.get_mut("mirrors").and_then(Value::as_array_mut) else { continue };
            let named: Vec<String> = mirrors.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            let has_local = named.iter().any(|mirror| mirror.starts_with(LOCAL));
            for mirror in &named {
                let [api, local] = self.both(mirror);
                for further in [Some(api), (!has_local).then_some(local)].into_iter().flatten() {
                    if !mirrors.iter().any(|known| *known == further) {
                        mirrors.push(further.into());
                        edited = true;
                    }
                }
            }
        }
        edited
    }

    fn move_image(&self, object: &mut Value, pointer: &str) -> bool {
        let Some(image) = object.pointer_mut(pointer) else { return false };
        let Some(moved) = image.as_str().map(|image| self.at_api(image)) else { return false };
        *image = moved.into();
        true
    }
}

/// The same image in another registry.
fn with_host(image: &str, host: &str) -> String {
    match image.split_once('/') {
        Some((_, path)) => format!("{host}/{path}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::manifest::ManifestFolder;

    use super::*;

    const RELEASE: &str = "apiVersion: machineconfiguration.openshift.io/v1alpha1\nkind: InternalReleaseImage\nmetadata: {name: cluster}\n";
    const MIRRORS: &str = "# kept\nkind: Other\n---\nkind: ImageDigestMirrorSet\nmetadata: {name: a}\nspec:\n  imageDigestMirrors:\n  - source: quay.io/x\n    mirrors: ['registry.lab:5000/x/y']\n  - source: quay.io/z\n    mirrors: ['registry.lab:5000/z', 'localhost:9/z']\n";

    fn given(name: &str, content: &str) -> OverlaidManifest {
        OverlaidManifest {
            folder: ManifestFolder::Manifests,
            name: name.to_owned(),
            content: content.to_owned().into(),
            by_user: true,
        }
    }

    fn cluster() -> Cluster {
        serde_json::from_value(json!({
            "kind": "Cluster", "id": "1b7dbf10-3b7f-4a7b-8d1a-3a8c2c2f5a4e", "href": "", "status": "ready", "status_info": "",
            "image_info": {}, "name": "lab", "base_dns_domain": "example.com",
        }))
        .unwrap()
    }

    fn read(given: &OverlaidManifest, document: usize) -> Value {
        let text = std::str::from_utf8(&given.content).unwrap();
        serde_yaml_ng::from_str(&documents(text)[document]).unwrap()
    }

    #[test]
    fn what_is_mirrored_is_served_by_the_nodes() {
        let catalogs = "kind: ClusterCatalog\nmetadata: {name: c}\nspec: {source: {image: {ref: 'registry.lab/cat/c:v1'}}}\n---\nkind: CatalogSource\nmetadata: {name: s}\nspec: {image: 'registry.lab/cat/s@sha256:1'}\n";
        let mut all = [
            given("r.yaml", RELEASE),
            given("m.yaml", MIRRORS),
            given("c.yaml", catalogs),
            given("p.yaml.patch", "- [\n"),
        ];
        serve(&mut all, &cluster()).unwrap();
        let sets = &read(&all[1], 1)["spec"]["imageDigestMirrors"];
        assert_eq!(
            sets[0]["mirrors"],
            json!(["registry.lab:5000/x/y", "api-int.lab.example.com:22625/x/y", "localhost:22625/x/y"])
        );
        assert_eq!(
            sets[1]["mirrors"],
            json!(["registry.lab:5000/z", "localhost:9/z", "api-int.lab.example.com:22625/z"])
        );
        assert!(std::str::from_utf8(&all[1].content).unwrap().starts_with("# kept\n"));
        assert_eq!(
            read(&all[2], 0)["spec"]["source"]["image"]["ref"],
            "api-int.lab.example.com:22625/cat/c:v1"
        );
        assert_eq!(read(&all[2], 1)["spec"]["image"], "api-int.lab.example.com:22625/cat/s@sha256:1");
        let once = all.clone();
        serve(&mut all, &cluster()).unwrap();
        for (once, twice) in once.iter().zip(&all) {
            assert_eq!(once.content, twice.content);
        }
    }

    #[test]
    fn clusters_that_carry_nothing_stay_as_they_are() {
        let other = RELEASE.replace("name: cluster", "name: other");
        let mut all = [given("r.yaml", &other), given("m.yaml", MIRRORS)];
        serve(&mut all, &cluster()).unwrap();
        assert_eq!(all[1].content, MIRRORS.as_bytes());
    }

    #[test]
    fn the_bootstrap_host_asks_the_nodes_too() {
        let conf = "unqualified-search-registries = []\n[[registry]]\nlocation = 'quay.io/x'\n[[registry.mirror]]\nlocation = 'registry.lab/x'\n[[registry]]\nlocation = 'quay.io/none'\n";
        let config = json!({
            "ignition": {"version": "3.2.0"},
            "storage": {"files": [{"path": REGISTRIES, "mode": 384, "contents": {"source": format!("data:,{}", conf.replace('\n', "%0A"))}}]},
        });
        let mut tree = Tree::read(config.to_string().as_bytes()).unwrap();
        serve_bootstrap(&mut tree, &cluster()).unwrap();
        let text = String::from_utf8(tree.content(REGISTRIES).unwrap()).unwrap();
        let conf: toml::Table = toml::from_str(&text).unwrap();
        let mirrors = conf["registry"][0]["mirror"].as_array().unwrap();
        let locations: Vec<_> = mirrors.iter().map(|mirror| mirror["location"].as_str().unwrap()).collect();
        assert_eq!(locations, ["registry.lab/x", "api-int.lab.example.com:22625/x", "localhost:22625/x"]);
        assert_eq!(tree.files()[0]["mode"], 384);
        let mut empty = Tree::empty("3.2.0");
        assert!(matches!(serve_bootstrap(&mut empty, &cluster()), Err(ServedError::Edit(_))));
    }
}
