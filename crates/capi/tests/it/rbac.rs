//! Rights, and what is released: the manifests in `deploy/` are those of the code. That the rights suffice is held by all other tests: the
//! providers have no more.

use std::path::Path;

use assisted_capi::components::{self, ALL};
use assisted_capi::rbac::{ROLES, ROLES_OF_SERVICE};
use assisted_kubeapi::rbac::manifest;
use assisted_testkit::golden;

fn deploy(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/cluster-api").join(file)
}

#[test]
fn manifests_are_those_of_the_code() {
    let of_hub = ROLES.iter().map(|role| (role, ""));
    for (role, mark) in of_hub.chain(ROLES_OF_SERVICE.iter().map(|role| (role, "-of-service"))) {
        let file = deploy(&format!("rbac/{}{mark}.yaml", role.account));
        golden(file, &manifest(role, "assisted-capi-system"));
        for access in role.accesses {
            for word in access.resources.iter().chain(access.verbs).chain([&access.group]) {
                assert!(!word.contains('*'), "{}: {access:?}", role.name);
                let is_of_hub = word.contains("agent-install") || word.contains("hive");
                assert!(!is_of_hub || mark.is_empty(), "{}: {access:?}", role.name);
            }
        }
    }
    for components in ALL {
        golden(deploy(&format!("{}/{}", components.folder, components.file)), &components.yaml().unwrap());
        let metadata = components::metadata(env!("CARGO_PKG_VERSION"));
        golden(deploy(&format!("{}/metadata.yaml", components.folder)), &metadata);
    }
}
