//! Rights: the manifests in `deploy/` are those of the code. That they suffice is held by all other tests: the providers have no more.

use std::path::Path;

use assisted_capi::rbac::ROLES;
use assisted_kubeapi::rbac::manifest;
use assisted_testkit::golden;

#[test]
fn manifests_are_those_of_the_code() {
    for role in ROLES {
        let file = format!("../../deploy/cluster-api/rbac/{}.yaml", role.account);
        golden(Path::new(env!("CARGO_MANIFEST_DIR")).join(file), &manifest(role, "assisted-capi-system"));
        for access in role.accesses {
            for word in access.resources.iter().chain(access.verbs).chain([&access.group]) {
                assert!(!word.contains('*'), "{}: {access:?}", role.name);
            }
        }
    }
}
