//! How the machine was booted (agent-protocol §3.4).

use std::io;

use assisted_wire::inventory::{Boot, BootDeviceType, SecureBootState};

use crate::Root;
use crate::mounts::Mounts;

pub(crate) const EFI: &str = "/sys/firmware/efi";
pub(crate) const SECURE_BOOT: &str =
    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

/// Firmware mode, secure boot, kernel command line, and whether the system runs from memory or from a disk.
pub(crate) fn boot(root: &Root, mounts: &Mounts) -> Boot {
    let command_line = root.raw_text("/proc/cmdline").unwrap_or_default();
    let pxe_interface = command_line.split_whitespace().find_map(|word| word.strip_prefix("BOOTIF="));
    Boot {
        current_boot_mode: if root.is_dir(EFI) { "uefi" } else { "bios" }.into(),
        pxe_interface: pxe_interface.unwrap_or_default().into(),
        command_line,
        secure_boot_state: Some(secure_boot(root)),
        device_type: device_type(mounts),
    }
}

/// Four bytes of attributes, then the value.
fn secure_boot(root: &Root) -> SecureBootState {
    match root.read(SECURE_BOOT, 4096) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => SecureBootState::NotSupported,
        Ok(bytes) => match bytes[..] {
            [_, _, _, _, 0] => SecureBootState::Disabled,
            [_, _, _, _, 1] => SecureBootState::Enabled,
            _ => SecureBootState::Unknown,
        },
        Err(_) => SecureBootState::Unknown,
    }
}

pub(crate) fn device_type(mounts: &Mounts) -> Option<BootDeviceType> {
    let source = mounts.source_of("/sysroot")?;
    Some(if source.starts_with("/dev/loop") { BootDeviceType::Ephemeral } else { BootDeviceType::Persistent })
}
