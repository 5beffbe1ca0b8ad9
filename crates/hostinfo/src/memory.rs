//! Installed and usable memory (agent-protocol §3.9).

use assisted_wire::inventory::{Memory, MemoryMethod};

use crate::Root;
use crate::smbios::Smbios;

const BLOCKS: &str = "/sys/devices/system/memory";

/// Installed memory by the firmware's word, else by the kernel's count of memory blocks, else what is usable. The
/// method's names are those of the tools that first gave these numbers; clients know them.
pub(crate) fn memory(root: &Root, smbios: &Smbios) -> Memory {
    let usable = usable(root);
    let physical = match i64::try_from(smbios.memory) {
        Ok(bytes) if bytes > 0 => Some((bytes, MemoryMethod::Dmidecode)),
        _ => online_blocks(root).or(usable).map(|bytes| (bytes, MemoryMethod::Ghw)),
    };
    Memory {
        physical_bytes: physical.map(|(bytes, _)| bytes).unwrap_or_default(),
        physical_bytes_method: physical.map(|(_, method)| method),
        usable_bytes: usable.unwrap_or_default(),
    }
}

fn usable(root: &Root) -> Option<i64> {
    let text = root.long_text("/proc/meminfo");
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: i64 = total.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024).filter(|bytes| *bytes > 0)
}

fn online_blocks(root: &Root) -> Option<i64> {
    let size = i64::from_str_radix(&root.text(&format!("{BLOCKS}/block_size_bytes"))?, 16).ok()?;
    let is_block = |name: &String| {
        name.strip_prefix("memory").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let online = root.list(BLOCKS).into_iter().filter(is_block);
    let online =
        online.filter(|name| root.text(&format!("{BLOCKS}/{name}/state")).is_some_and(|s| s == "online"));
    i64::try_from(online.count()).ok()?.checked_mul(size).filter(|bytes| *bytes > 0)
}
