//! The key of the image: it names what is built, so that a changed recipe is another image.

use assisted_lab_tools::{COREOS_INSTALLER, OSTREE_EXT};
use sha2::{Digest, Sha256};

use super::recipe::{CUSTOMIZE, Kind, SUITE, TREE, TREE_FILES, UNWANTED, VERSION};
use super::{arguments, disk};

/// The first digits of the digest of everything that decides what is built, but for the versions of Debian's packages.
pub(super) fn key(kind: Kind) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    for text in [VERSION, COREOS_INSTALLER, SUITE, &kind.dracut_modules(), CUSTOMIZE] {
        add(text);
    }
    kind.packages().iter().chain(UNWANTED).for_each(|text| add(text));
    for file in kind.files() {
        add(file.path);
        add(file.content);
    }
    add(disk::GRUB);
    add(&disk::entry());
    add(&disk::layout());
    add(&arguments::default("volume"));
    add(&arguments::grub(""));
    add(&arguments::isolinux(""));
    if kind == Kind::Ostree {
        [TREE, OSTREE_EXT, &disk::ostree_grub()].into_iter().for_each(&mut add);
        for file in TREE_FILES {
            add(file.path);
            add(file.content);
        }
    }
    hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// Volume id of the ISO. The boot loader and the initramfs find their medium by it: images of two recipes must not be
/// mistaken for each other.
pub(super) fn volume(kind: Kind) -> String {
    format!("rhcos-lab-{}", key(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_volume_id_is_one_that_image_services_accept_and_fits() {
        let [volume, other] = [Kind::Plain, Kind::Ostree].map(volume);
        assert!(volume.starts_with("rhcos-") && volume.len() <= 32, "{volume}");
        assert_ne!(volume, other);
    }
}
