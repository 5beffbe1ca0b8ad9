//! The key of the image: it names what is built, so that a changed recipe is another image.

use assisted_lab_tools::COREOS_INSTALLER;
use sha2::{Digest, Sha256};

use super::recipe::{CUSTOMIZE, DRACUT_MODULES, FILES, PACKAGES, SUITE, UNWANTED, VERSION};
use super::{arguments, disk};

/// The first digits of the digest of everything that decides what is built, but for the versions of Debian's packages.
pub(super) fn key() -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    for text in [VERSION, COREOS_INSTALLER, SUITE, DRACUT_MODULES, CUSTOMIZE] {
        add(text);
    }
    PACKAGES.iter().chain(UNWANTED).for_each(|text| add(text));
    for file in FILES {
        add(file.path);
        add(file.content);
    }
    add(disk::GRUB);
    add(&disk::entry());
    add(&disk::layout());
    add(&arguments::default("volume"));
    add(&arguments::grub(""));
    add(&arguments::isolinux(""));
    hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// Volume id of the ISO. The boot loader and the initramfs find their medium by it: images of two recipes must not be
/// mistaken for each other.
pub(super) fn volume() -> String {
    format!("rhcos-lab-{}", key())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_volume_id_is_one_that_image_services_accept_and_fits() {
        let volume = volume();
        assert!(volume.starts_with("rhcos-") && volume.len() <= 32, "{volume}");
    }
}
