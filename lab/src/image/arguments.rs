//! The kernel's command line in the boot loaders' files, and the places where others may write into it.
//!
//! An area starts at the first default argument and reaches to the end of the number signs on the comment line below
//! (image-service §2.4): whoever writes arguments there ends them with a newline, and what is left stays a comment.

use serde_json::{Value, json};

/// What the image service and coreos-installer look for (image-service §2.4).
const MARKER: &str = "# COREOS_KARG_EMBED_AREA";

/// Number signs of a pristine area.
const PADDING: usize = 1023;

/// Where EFI machines find their boot loader's file; the vendor's folder is one that tools know.
pub(super) const GRUB: &str = "EFI/fedora/grub.cfg";

/// The file with the kernel arguments that BIOS machines use.
pub(super) const ISOLINUX: &str = "isolinux/isolinux.cfg";

/// What live and installed systems start with: the serial console, and what saves time where every instruction is
/// emulated.
pub(super) const COMMON: &str = "random.trust_cpu=on mitigations=off cryptomgr.notests apparmor=0 quiet \
                                 systemd.show_status=1 console=tty0 console=ttyS0,115200n8";

/// Default arguments of an image with this volume id, in CoreOS's order.
pub(super) fn default(volume: &str) -> String {
    format!("coreos.liveiso={volume} ignition.firstboot ignition.platform.id=metal {COMMON}")
}

/// GRUB's file.
pub(super) fn grub(arguments: &str) -> String {
    format!(
        "set timeout=1\nset default=0\n\
         serial --unit=0 --speed=115200\nterminal_input console serial\nterminal_output console serial\n\
         menuentry 'Live' --class gnu-linux --class os {{\n\
         \tlinux /images/pxeboot/vmlinuz {arguments}\n{}\
         \tinitrd /images/pxeboot/initrd.img /images/ignition.img\n}}\n",
        area()
    )
}

/// isolinux's file.
pub(super) fn isolinux(arguments: &str) -> String {
    format!(
        "serial 0 115200\ndefault live\nprompt 0\ntimeout 10\n\
         label live\n  kernel /images/pxeboot/vmlinuz\n\
         \x20 append initrd=/images/pxeboot/initrd.img,/images/ignition.img {arguments}\n{}",
        area()
    )
}

fn area() -> String {
    format!("{}{MARKER}\n", "#".repeat(PADDING))
}

/// `coreos/kargs.json`: where the areas are.
pub(super) fn areas(arguments: &str) -> Value {
    let file = |path: &str, text: &str| {
        let offset = text.find(arguments).unwrap_or_default();
        json!({ "path": path, "offset": offset, "pad": "#", "end": "\n" })
    };
    json!({
        "default": arguments,
        "size": arguments.len() + 1 + PADDING,
        "files": [file(GRUB, &grub(arguments)), file(ISOLINUX, &isolinux(arguments))],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_areas_hold_the_same_text_up_to_the_marker() {
        let arguments = default("rhcos-lab-1");
        let areas = areas(&arguments);
        let size = usize::try_from(areas["size"].as_u64().unwrap()).unwrap();
        for (index, text) in [grub(&arguments), isolinux(&arguments)].iter().enumerate() {
            let offset = usize::try_from(areas["files"][index]["offset"].as_u64().unwrap()).unwrap();
            let area = &text[offset..offset + size];
            assert_eq!(area, format!("{arguments}\n{}", "#".repeat(PADDING)));
            assert!(text[offset + size..].starts_with("# COREOS_KARG_EMBED_AREA\n"));
        }
    }

    #[test]
    fn lines_have_the_shape_that_tools_edit() {
        let grub = grub("a=b");
        assert!(grub.contains("\n\tlinux /images/pxeboot/vmlinuz a=b\n####"));
        assert!(grub.contains("\n\tinitrd /images/pxeboot/initrd.img /images/ignition.img\n"));
        let isolinux = isolinux("a=b");
        assert!(
            isolinux.contains("\n  append initrd=/images/pxeboot/initrd.img,/images/ignition.img a=b\n####")
        );
    }
}
