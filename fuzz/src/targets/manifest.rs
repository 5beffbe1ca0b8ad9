//! Manifests that users add, by the ending of their name.

use assisted_core::admission::manifest::{ManifestPath, check, check_name, decode};
use assisted_service::fuzz::documents;
use assisted_wire::id::ClusterId;
use assisted_wire::manifest::ManifestFolder;

use crate::input;

pub fn run(bytes: &[u8]) {
    let (choice, content) = input::choice(bytes);
    let names = ["a.yaml", "a.yml", "a.json", "a.yaml.patch", "a.yml.patch_1", "a.txt"];
    let file_name = names.get(choice % names.len()).copied().unwrap_or_default();
    let place = |file_name| ManifestPath {
        cluster_id: ClusterId::default(),
        folder: ManifestFolder::Manifests,
        file_name,
    };
    let _ = check(place(file_name), content);
    let Some(text) = input::text(content) else { return };
    if check_name(place(text)).is_ok() {
        assert!(!text.contains('/') && text != "..", "a name is that of a file in its folder");
    }
    let _ = decode(place(file_name), text);
    let parts: usize = documents(text).iter().map(String::len).sum();
    assert!(parts <= text.len(), "documents are parts of the text");
}
