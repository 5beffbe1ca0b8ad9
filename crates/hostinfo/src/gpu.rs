//! Graphics and compute accelerators on the PCI bus (agent-protocol §3.10).

use std::io::{BufRead, BufReader, Read};

use assisted_wire::inventory::Gpu;

use crate::Root;

const BUS: &str = "/sys/bus/pci/devices";
/// Class and subclass of VGA, 3D and other display controllers, and of processing accelerators.
const CLASSES: &[&str] = &["0300", "0302", "0380", "1200"];
/// Where distributions keep the names of vendors and devices.
const NAMES: &[&str] = &["/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids"];
/// The list is 1.5 MB; it is read line by line and never held.
const MAX_NAMES: u64 = 8 << 20;
const UNKNOWN: &str = "unknown";

/// One entry per function, sorted by address. A device whose description can't be understood is left out.
pub(crate) fn list(root: &Root) -> Vec<Gpu> {
    let mut gpus: Vec<Gpu> = root
        .list(BUS)
        .into_iter()
        .filter_map(|address| {
            let (vendor_id, device_id) = accelerator(&root.text(&format!("{BUS}/{address}/modalias"))?)?;
            Some(Gpu { address, vendor_id, device_id, vendor: UNKNOWN.into(), name: UNKNOWN.into() })
        })
        .collect();
    if !gpus.is_empty()
        && let Some(names) = NAMES.iter().find(|path| root.exists(path))
    {
        name(root, names, &mut gpus);
    }
    gpus
}

/// Vendor and device (lowercase hex) of `pci:v000010DEd000020B5sv…sd…bc03sc02i00` when the class is wanted.
fn accelerator(modalias: &str) -> Option<(String, String)> {
    let rest = modalias.strip_prefix("pci:v")?;
    let (vendor, rest) = hex(rest, 8)?;
    let (device, rest) = hex(rest.strip_prefix('d')?, 8)?;
    let (_, rest) = hex(rest.strip_prefix("sv")?, 8)?;
    let (_, rest) = hex(rest.strip_prefix("sd")?, 8)?;
    let (class, rest) = hex(rest.strip_prefix("bc")?, 2)?;
    let (subclass, _) = hex(rest.strip_prefix("sc")?, 2)?;
    CLASSES
        .contains(&format!("{class}{subclass}").as_str())
        .then(|| (vendor[4..].to_owned(), device[4..].to_owned()))
}

fn hex(text: &str, length: usize) -> Option<(String, &str)> {
    let (digits, rest) = text.split_at_checked(length)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| (digits.to_ascii_lowercase(), rest))
}

/// `vvvv  Vendor`, then its devices as `<tab>dddd  Device`.
fn name(root: &Root, path: &str, gpus: &mut [Gpu]) {
    let Ok(file) = root.file(path) else { return };
    let mut vendor = String::new();
    for line in BufReader::new(file.take(MAX_NAMES)).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        if line.starts_with('C') {
            // Classes follow the vendors.
            break;
        } else if line.starts_with('#') || line.starts_with("\t\t") {
            continue;
        } else if let Some((id, text)) = line.strip_prefix('\t').and_then(|line| line.split_once("  ")) {
            for gpu in gpus.iter_mut().filter(|gpu| gpu.vendor_id == vendor && gpu.device_id == id) {
                gpu.name = text.trim().into();
            }
        } else if let Some((id, text)) = line.split_once("  ") {
            vendor = id.into();
            for gpu in gpus.iter_mut().filter(|gpu| gpu.vendor_id == vendor) {
                gpu.vendor = text.trim().into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_accelerators_count() {
        let found = accelerator("pci:v000010DEd000020B5sv000010DEsd00001533bc03sc02i00");
        assert_eq!(found, Some(("10de".into(), "20b5".into())));
        assert_eq!(accelerator("pci:v00008086d00001572sv00001028sd00000000bc02sc00i00"), None);
        for bad in ["", "pci:", "pci:v10DE", "usb:v1D6Bp0002", "pci:v000010DEd000020B5sv€€€"] {
            assert_eq!(accelerator(bad), None, "{bad:?}");
        }
    }
}
