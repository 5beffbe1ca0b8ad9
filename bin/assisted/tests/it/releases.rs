//! A registry that has the releases which clusters are installed from.

use std::path::PathBuf;

use assisted_testkit::{Access, DockerRegistry, oci};

/// A registry, empty at first; it ends with the test.
pub struct Releases {
    pub registry: DockerRegistry,
    /// A `registries.conf` by which releases are to be had there alone.
    pub conf: PathBuf,
    _dir: tempfile::TempDir,
}

impl Releases {
    pub fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let registry = DockerRegistry::start(dir.path(), &Access::default()).unwrap();
        let conf = dir.path().join("registries.conf");
        let name = registry.name();
        let text = format!(
            "[[registry]]\nlocation = \"quay.io/openshift-release-dev/ocp-release\"\nblocked = true\n\
             [[registry.mirror]]\nlocation = \"{name}/ocp/release\"\ninsecure = true\npull-from-mirror = \"all\"\n\
             [[registry]]\nlocation = \"{name}\"\ninsecure = true\n"
        );
        std::fs::write(&conf, text).unwrap();
        Self { registry, conf, _dir: dir }
    }

    /// Pushes a release whose installer program is this.
    pub fn push(&self, version: &str, program: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(oci::push_release(&self.registry, version, program.as_bytes())).unwrap();
    }
}
