//! Files that name mirrors: `registries.conf`, image sets of Kubernetes.

use assisted_release::{Mirrors, Reference};

use crate::input;

pub fn run(bytes: &[u8]) {
    let Some(text) = input::text(bytes) else { return };
    let _ = assisted_service::fuzz::names_registries(text);
    for mirrors in [Mirrors::from_registries_conf(text), Mirrors::from_image_sets(text)].into_iter().flatten()
    {
        let Ok(reference) = "quay.io/openshift-release-dev/ocp-release:4.20.1".parse::<Reference>() else {
            return;
        };
        let _ = mirrors.by_digest();
        for source in mirrors.sources(&reference) {
            assert_eq!(source.reference.selector(), reference.selector(), "a mirror has the same image");
        }
    }
}
