//! Files of manifests that `assisted apply` is given.

use assisted_kubeapi::objects::{Document, Manifests};

use crate::input;

pub fn run(bytes: &[u8]) {
    // Aliases make nothing larger than the parser of YAML allows.
    let Some(text) = input::text(bytes) else { return };
    let Ok(documents) = Document::read(text) else { return };
    let mut manifests = Manifests::default();
    for document in documents {
        let _ = manifests.add(document);
    }
    let _ = manifests.all_nmstate_configs().count();
}
