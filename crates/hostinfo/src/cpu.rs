//! Processors (agent-protocol §3.8).

use assisted_wire::inventory::Cpu;

use crate::Root;
use crate::root::lossy;

/// One processor's block is a few kilobytes and the first one says all; a big machine has hundreds.
const INFO_HEAD: u64 = 64 << 10;
const SYS: &str = "/sys/devices/system/cpu";

/// Arm's part numbers by implementer: the kernel knows no names for them.
const ARM_PARTS: &[(&str, &str, &str)] = &[
    ("0x41", "0xd03", "Cortex-A53"),
    ("0x41", "0xd07", "Cortex-A57"),
    ("0x41", "0xd08", "Cortex-A72"),
    ("0x41", "0xd0b", "Cortex-A76"),
    ("0x41", "0xd0c", "Neoverse-N1"),
    ("0x41", "0xd40", "Neoverse-V1"),
    ("0x41", "0xd49", "Neoverse-N2"),
    ("0x41", "0xd4f", "Neoverse-V2"),
    ("0x41", "0xd84", "Neoverse-V3"),
    ("0x41", "0xd8e", "Neoverse-N3"),
    ("0x43", "0x0af", "ThunderX2-99xx"),
    ("0x46", "0x001", "A64FX"),
    ("0x48", "0xd01", "TaiShan-v110"),
    ("0xc0", "0xac3", "Ampere-1"),
    ("0xc0", "0xac4", "Ampere-1a"),
];

/// Count, model, flags and top frequency in MHz. The model is the machine type on s390x.
pub(crate) fn cpu(root: &Root) -> Cpu {
    let info = info(root);
    let flags = field(&info, &["flags", "Features", "features"]);
    Cpu {
        architecture: root.architecture(),
        count: count(root, &info),
        frequency: frequency(root, &info),
        flags: flags.map(|flags| flags.split_whitespace().map(Into::into).collect()),
        model_name: model(&info),
    }
}

/// The beginning of `/proc/cpuinfo`: the machine, where it stands there, and the first processors.
pub(crate) fn info(root: &Root) -> String {
    root.head("/proc/cpuinfo", INFO_HEAD).map(lossy).unwrap_or_default()
}

fn field<'a>(info: &'a str, names: &[&str]) -> Option<&'a str> {
    info.lines()
        .filter_map(|line| line.split_once(':'))
        .find_map(|(name, value)| names.contains(&name.trim()).then(|| value.trim()))
}

fn model(info: &str) -> String {
    if let Some(machine) = s390_machine(info) {
        return machine.to_owned();
    }
    if let Some(name) = field(info, &["model name", "cpu"]) {
        return name.to_owned();
    }
    let (implementer, part) = (field(info, &["CPU implementer"]), field(info, &["CPU part"]));
    let known = ARM_PARTS.iter().find(|(i, p, _)| Some(*i) == implementer && Some(*p) == part);
    known.map(|(_, _, name)| (*name).to_owned()).or_else(|| part.map(Into::into)).unwrap_or_default()
}

/// `processor 0: version = FF,  identification = 0133E8,  machine = 8561`
fn s390_machine(info: &str) -> Option<&str> {
    let line = info.lines().find(|line| line.starts_with("processor 0:"))?;
    line.split_once("machine = ").map(|(_, machine)| machine.trim())
}

fn count(root: &Root, info: &str) -> i64 {
    root.text(&format!("{SYS}/present")).and_then(|list| list_length(&list)).unwrap_or_else(|| {
        info.lines().filter(|line| line.starts_with("processor")).count().try_into().unwrap_or_default()
    })
}

/// How many numbers a list such as `0-3,8` holds.
fn list_length(list: &str) -> Option<i64> {
    list.split(',').try_fold(0_i64, |sum, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        Some(sum + i64::from(last.checked_sub(first)?) + 1)
    })
}

/// The governor's limit where there is a governor: the momentary frequency would make each report differ.
fn frequency(root: &Root, info: &str) -> f64 {
    let cpus = root.list(SYS).into_iter().filter(|name| name.starts_with("cpu"));
    let limits =
        cpus.filter_map(|cpu| root.text(&format!("{SYS}/{cpu}/cpufreq/cpuinfo_max_freq"))?.parse().ok());
    let top = limits.fold(0.0, |top: f64, khz: f64| top.max(khz / 1000.0));
    if top > 0.0 {
        return top;
    }
    let momentary = field(info, &["cpu MHz static", "cpu MHz", "clock"]);
    let momentary = momentary.and_then(|mhz| mhz.trim_end_matches("MHz").parse().ok());
    momentary.filter(|mhz: &f64| mhz.is_finite() && *mhz > 0.0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted() {
        assert_eq!(list_length("0"), Some(1));
        assert_eq!(list_length("0-3,8,10-11"), Some(7));
        for bad in ["", "3-0", "a", "0-", "99999999999"] {
            assert_eq!(list_length(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn each_architecture_names_its_model() {
        assert_eq!(model("processor\t: 0\nmodel name\t: AMD EPYC\n"), "AMD EPYC");
        assert_eq!(model("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"), "Neoverse-N1");
        assert_eq!(model("CPU implementer\t: 0x99\nCPU part\t: 0x123\n"), "0x123");
        assert_eq!(
            model("cpu\t\t: POWER9 (architected), altivec supported\n"),
            "POWER9 (architected), altivec supported"
        );
        assert_eq!(model("processor 0: version = FF,  identification = 0133E8,  machine = 8561\n"), "8561");
    }
}
