//! Freeing a disk of whatever holds it: volume groups, device mapper, RAID, signatures (installer-and-controller §A17).
//!
//! Everything is attempted, whatever failed before: what is left standing shows when the image is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::host::{Host, RunError};

/// What could not be done; the disk may be usable nevertheless.
#[derive(Debug, thiserror::Error)]
#[error("{}", faults.iter().rev().map(ToString::to_string).collect::<Vec<_>>().join(": "))]
pub struct CleanError {
    /// In the order in which they came.
    pub faults: Vec<RunError>,
}

/// Frees `disk`, such as `/dev/sda`: a path behind all links.
///
/// # Errors
/// When something could not be undone; the rest is done all the same.
pub async fn clean(disk: &Path, host: &Host) -> Result<(), CleanError> {
    let mut work = Cleaning { host, faults: Vec::new() };
    let device = work.device(disk).await;
    work.holders(&device).await;
    work.raid(&device).await;
    work.signatures(disk).await;
    if work.faults.is_empty() { Ok(()) } else { Err(CleanError { faults: work.faults }) }
}

struct Cleaning<'a> {
    host: &'a Host,
    faults: Vec<RunError>,
}

/// A disk or an array, by all its names. What device mapper makes, such as a multipath device, is called by its map's name by LVM and by
/// device mapper itself: `/dev/mapper/mpatha` beside `/dev/dm-0`.
#[derive(Debug)]
struct Device {
    path: PathBuf,
    map: Option<PathBuf>,
}

impl Device {
    fn names(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.path).chain(&self.map).map(PathBuf::as_path)
    }

    /// Whether a path is it, or a partition of it.
    fn has(&self, path: &str) -> bool {
        self.names().any(|name| is_on(path, name))
    }

    /// Whether device mapper calls it so, or a partition of it.
    fn is_called(&self, name: &str) -> bool {
        self.names().any(|own| is_on(&beside(own, name), own))
    }

    /// Whether device mapper makes a partition of it by this name: it stays, as partitions of disks do.
    fn has_partition(&self, name: &str) -> bool {
        self.map.as_deref().is_some_and(|map| is_on(&beside(map, name), map))
    }
}

/// The path of a name in the folder of another.
fn beside(path: &Path, name: &str) -> String {
    path.with_file_name(name).to_string_lossy().into_owned()
}

/// An array, and the devices that it is made of.
#[derive(Debug, PartialEq, Eq)]
struct Array {
    device: PathBuf,
    members: Vec<PathBuf>,
}

/// A device-mapper device, and the names of what it is made of.
#[derive(Debug)]
struct Mapped {
    name: String,
    made_of: Vec<String>,
}

impl Cleaning<'_> {
    /// A device, with the name that device mapper has for it.
    async fn device(&mut self, path: &Path) -> Device {
        let number = path.file_name().and_then(|name| name.to_str()?.strip_prefix("dm-"));
        let map = match number {
            Some(number) => {
                let list = self.run("dmsetup", &["ls"]).await.unwrap_or_default();
                maps(&list)
                    .find(|(_, own)| *own == number)
                    .map(|(name, _)| Path::new("/dev/mapper").join(name))
            }
            None => None,
        };
        Device { path: path.to_owned(), map }
    }

    /// Volume groups, physical volumes and device-mapper devices on a device.
    async fn holders(&mut self, device: &Device) {
        let groups = self.run("vgs", &["--noheadings", "-o", "vg_name,pv_name"]).await.unwrap_or_default();
        let mut removed = Vec::new();
        for line in groups.lines() {
            let mut words = line.split_whitespace();
            if let (Some(group), Some(volume)) = (words.next(), words.next())
                && device.has(volume)
                && !removed.contains(&group)
            {
                self.run("vgremove", &[group, "-y"]).await;
                removed.push(group);
            }
        }
        let volumes = self.run("pvs", &["--noheadings", "-o", "pv_name"]).await.unwrap_or_default();
        for volume in volumes.lines().map(str::trim).filter(|volume| device.has(volume)) {
            self.run("pvremove", &[volume, "-y", "-ff"]).await;
        }
        self.mapped(device).await;
    }

    /// Device-mapper devices, those that others are made of last.
    async fn mapped(&mut self, device: &Device) {
        let Some(list) = self.run("dmsetup", &["ls"]).await else { return };
        let mut all = Vec::new();
        for (name, _) in maps(&list) {
            // One that doesn't tell what it is made of, or is gone already, keeps nobody from the others.
            let Some(deps) = self.run("dmsetup", &["deps", "-o", "devname", name]).await else { continue };
            all.push(Mapped { name: name.to_owned(), made_of: made_of(&deps) });
        }
        for name in standing_on(&all, device) {
            self.run("dmsetup", &["remove", "--retry", &name]).await;
        }
    }

    async fn raid(&mut self, disk: &Device) {
        let scan = ["-v", "--query", "--detail", "--scan"];
        // Without the tool, or without arrays, there is nothing to stop.
        let Ok(list) = self.host.run("mdadm", &scan).await else { return };
        let arrays = arrays(&list);
        let host = self.host;
        let is_member = |member: &&PathBuf| {
            disk.has(&member.to_string_lossy()) || disk.has(&host.resolve(member).to_string_lossy())
        };
        let of_disk = |array: &&Array| array.members.iter().any(|member| is_member(&member));
        for array in arrays.iter().filter(of_disk) {
            let device = self.device(&host.resolve(&array.device)).await;
            self.holders(&device).await;
        }
        for array in arrays.iter().filter(of_disk) {
            if self.run("mdadm", &["--stop".as_ref(), array.device.as_os_str()]).await.is_none() {
                continue;
            }
            for member in array.members.iter().filter(is_member) {
                self.run("mdadm", &["--zero-superblock".as_ref(), member.as_os_str()]).await;
            }
        }
    }

    async fn signatures(&mut self, disk: &Path) {
        let before = self.faults.len();
        let all: [&std::ffi::OsStr; 3] = ["--all".as_ref(), "--force".as_ref(), disk.as_os_str()];
        if self.run("wipefs", &all).await.is_none() && self.run("wipefs", &[all[0], all[2]]).await.is_some() {
            // What the second try did is done.
            self.faults.truncate(before);
        }
    }

    /// What a program prints; `None`, and a fault, where it fails.
    async fn run<A: AsRef<std::ffi::OsStr>>(&mut self, program: &str, args: &[A]) -> Option<String> {
        match self.host.run(program, args).await {
            Ok(text) => Some(text),
            Err(fault) => {
                self.faults.push(fault);
                None
            }
        }
    }
}

/// Whether a path is that device, or a partition of it: `/dev/sda1` is on `/dev/sda`, `/dev/sdaa` isn't.
fn is_on(path: &str, device: &Path) -> bool {
    let device = device.to_string_lossy();
    let Some(rest) = path.strip_prefix(device.as_ref()) else { return false };
    let number = match rest.strip_prefix('p') {
        // Names that end in a digit have a `p` before the partition's number.
        Some(number) if device.ends_with(|c: char| c.is_ascii_digit()) => number,
        _ if rest.starts_with("-part") => rest.trim_start_matches("-part"),
        _ if device.ends_with(|c: char| c.is_ascii_digit()) && !rest.is_empty() => return false,
        _ => rest,
    };
    number.bytes().all(|c| c.is_ascii_digit())
}

/// Names, each with the number of its device, in lines of a name, a tab and `(254:0)`; older versions write `(254, 0)`.
fn maps(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.lines().filter_map(|line| {
        let (name, place) = line.split_once('\t')?;
        let place = place.trim().trim_matches(['(', ')']);
        Some((name, place.split_once([':', ',']).map_or("", |(_, number)| number.trim())))
    })
}

/// The names in `2 dependencies : (sda2) (vg-pool_tmeta)`.
fn made_of(deps: &str) -> Vec<String> {
    let names = deps.split('(').skip(1).filter_map(|rest| rest.split_once(')'));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// What stands on a device or a partition of it, be it on top of others: each comes before what it is made of.
fn standing_on(all: &[Mapped], device: &Device) -> Vec<String> {
    // How far each is from the device.
    let mut heights: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in all {
        for mapped in all {
            let below = mapped.made_of.iter().filter_map(|name| {
                if device.is_called(name) {
                    Some(0)
                } else {
                    heights.get(name.as_str()).map(|height| height + 1)
                }
            });
            if let Some(height) = below.max() {
                heights.insert(&mapped.name, height.min(all.len()));
            }
        }
    }
    // A thin pool holds its parts, even where it isn't listed.
    let part = |name: &str| name.ends_with("_tdata") || name.ends_with("_tmeta");
    let pools: Vec<_> = heights
        .iter()
        .filter_map(|(name, height)| Some((name.strip_suffix("_tdata")?, height + 1)))
        .collect();
    for (pool, height) in pools {
        heights.entry(pool).or_insert(height);
    }
    let mut found: Vec<_> = heights.into_iter().filter(|(name, _)| !device.has_partition(name)).collect();
    found.sort_by_key(|(name, height)| (std::cmp::Reverse(*height), part(name)));
    found.into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// Entries of two lines: `ARRAY <device> …`, then `   devices=<a>,<b>`.
fn arrays(scan: &str) -> Vec<Array> {
    let mut lines = scan.lines().peekable();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let Some(rest) = line.strip_prefix("ARRAY ") else { continue };
        let device = PathBuf::from(rest.split_whitespace().next().unwrap_or_default());
        let list = lines.peek().and_then(|next| next.trim().strip_prefix("devices=")).unwrap_or_default();
        let members = list.split(',').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
        if device.is_absolute() {
            found.push(Array { device, members });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use assisted_base::process::Tools;

    use super::*;

    #[test]
    fn partitions_belong_to_their_disk_alone() {
        for (path, disk, on) in [
            ("/dev/sda", "/dev/sda", true),
            ("/dev/sda12", "/dev/sda", true),
            ("/dev/sdaa", "/dev/sda", false),
            ("/dev/sdaa1", "/dev/sda", false),
            ("/dev/nvme0n1", "/dev/nvme0n1", true),
            ("/dev/mapper/mpatha1", "/dev/mapper/mpatha", true),
            ("/dev/mapper/mpatha-part1", "/dev/mapper/mpatha", true),
            ("/dev/mapper/mpatha-party", "/dev/mapper/mpatha", false),
            ("/dev/mapper/mpathaa", "/dev/mapper/mpatha", false),
            ("/dev/nvme0n1p3", "/dev/nvme0n1", true),
            ("/dev/nvme0n12", "/dev/nvme0n1", false),
            ("/dev/nvme0n12p1", "/dev/nvme0n1", false),
            ("/dev/loop1", "/dev/loop0", false),
            ("", "/dev/sda", false),
        ] {
            assert_eq!(is_on(path, Path::new(disk)), on, "{path} {disk}");
        }
    }

    #[test]
    fn what_stands_on_a_disk_comes_before_what_it_is_made_of() {
        let mapped = |list: &[(&str, &str)]| -> Vec<Mapped> {
            list.iter()
                .map(|(name, deps)| Mapped { name: (*name).to_owned(), made_of: made_of(deps) })
                .collect()
        };
        let sda = Device { path: "/dev/sda".into(), map: None };
        let of_sda = |list: &[(&str, &str)]| standing_on(&mapped(list), &sda);
        assert_eq!(of_sda(&[("x", "2 dependencies\t: (sdb) (sda2)")]), ["x"]);
        assert_eq!(of_sda(&[("x", "1 dependencies\t: (sdaa2)"), ("y", "0 dependencies")]), [""; 0]);
        // One on the other, whatever their order; what they don't hold stays.
        let stack = [
            ("low", "1 dependencies  : (sda1)"),
            ("top", "1 dependencies  : (middle)"),
            ("middle", "2 dependencies  : (sdb) (low)"),
            ("other", "1 dependencies  : (sdb)"),
        ];
        assert_eq!(of_sda(&stack), ["top", "middle", "low"]);
        let pool = [
            ("vg-pool_tdata", "1 dependencies  : (sda)"),
            ("vg-pool_tmeta", "1 dependencies  : (sda)"),
            ("vg-pool-tpool", "2 dependencies  : (vg-pool_tdata) (vg-pool_tmeta)"),
            ("vg-thin", "1 dependencies  : (vg-pool-tpool)"),
        ];
        assert_eq!(of_sda(&pool), ["vg-thin", "vg-pool", "vg-pool-tpool", "vg-pool_tdata", "vg-pool_tmeta"]);
        // What can't be ends all the same.
        assert_eq!(of_sda(&[("a", "(b) (sda)"), ("b", "(a)")]).len(), 2);
        // Of a multipath device neither its paths go, nor itself, nor its partitions.
        let paths = Device { path: "/dev/dm-0".into(), map: Some("/dev/mapper/mpatha".into()) };
        let stack = [
            ("mpatha", "2 dependencies  : (sdb) (sda)"),
            ("mpatha1", "1 dependencies  : (mpatha)"),
            ("data-home", "1 dependencies  : (mpatha1)"),
            ("whole", "1 dependencies  : (mpatha)"),
            ("mpathb1", "1 dependencies  : (mpathb)"),
        ];
        assert_eq!(standing_on(&mapped(&stack), &paths), ["data-home", "whole"]);
    }

    /// A multipath device whose partition is in a volume group: LVM and device mapper call it by its map's name.
    #[tokio::test]
    async fn what_holds_a_multipath_device_is_undone() {
        let dir = tempfile::tempdir().unwrap();
        let text = r#"echo "${0##*/} $*" >> DIR/asked
case "${0##*/} $*" in
  "vgs "*) printf '  data /dev/mapper/mpatha2\n  other /dev/mapper/mpathb1\n' ;;
  "pvs "*) printf '  /dev/mapper/mpatha2\n  /dev/mapper/mpathb1\n' ;;
  "dmsetup ls") printf 'mpathb\t(254:1)\nmpatha\t(254:0)\nmpatha2\t(254:2)\ndata-home\t(254:3)\n' ;;
  "dmsetup deps -o devname mpatha2") echo '1 dependencies  : (mpatha)' ;;
  "dmsetup deps -o devname data-home") echo '1 dependencies  : (mpatha2)' ;;
  "dmsetup deps "*) echo '2 dependencies  : (sdb) (sda)' ;;
esac
"#
        .replace("DIR", &dir.path().display().to_string());
        for name in ["vgs", "pvs", "vgremove", "pvremove", "dmsetup", "mdadm", "wipefs"] {
            crate::script::script(&dir.path().join(name), &text);
        }
        clean(Path::new("/dev/dm-0"), &Host::at(dir.path(), Tools::at(dir.path()))).await.unwrap();
        assert_eq!(
            changes(dir.path()),
            [
                "vgremove data -y",
                "pvremove /dev/mapper/mpatha2 -y -ff",
                "dmsetup remove --retry data-home",
                "wipefs --all --force /dev/dm-0",
            ]
        );
    }

    /// What the tools were asked to change.
    fn changes(dir: &Path) -> Vec<String> {
        let asked = std::fs::read_to_string(dir.join("asked")).unwrap();
        let looks = ["vgs ", "pvs ", "dmsetup ls", "dmsetup deps", "mdadm -v"];
        let is_look = |line: &&str| looks.iter().any(|look| line.starts_with(look));
        asked.lines().filter(|line| !is_look(line)).map(str::to_owned).collect()
    }

    /// A disk with a volume group, a thin pool and an array, as the tools would tell; they note what they are asked.
    #[tokio::test]
    async fn what_holds_a_disk_is_undone_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let text = r#"echo "${0##*/} $*" >> DIR/asked
case "${0##*/} $*" in
  "vgs "*) printf '  data /dev/sdq2\n  other /dev/sdqq1\n  data /dev/sdq3\n  root /dev/md77\n' ;;
  "pvs "*) printf '  /dev/sdq2\n  /dev/sdqq1\n  /dev/md77\n' ;;
  "dmsetup ls") printf 'gone\t(254:0)\npool_tdata\t(254:1)\npool_tmeta\t(254:2)\ndata-home\t(254:3)\nother\t(254:4)\n' ;;
  "dmsetup deps -o devname gone") echo 'no such device' >&2; exit 1 ;;
  "dmsetup deps -o devname other") echo '1 dependencies  : (sdqq1)' ;;
  "dmsetup deps "*) echo '1 dependencies  : (sdq2)' ;;
  "mdadm -v --query"*) printf 'ARRAY /dev/md77 level=raid1\n   devices=/dev/sdq4,/dev/sdr4\n' ;;
  "wipefs --all --force /dev/sdq") echo busy >&2; exit 1 ;;
  "vgremove data -y") echo held >&2; exit 5 ;;
esac
"#
        .replace("DIR", &dir.path().display().to_string());
        for name in ["vgs", "pvs", "vgremove", "pvremove", "dmsetup", "mdadm", "wipefs"] {
            crate::script::script(&dir.path().join(name), &text);
        }
        let error =
            clean(Path::new("/dev/sdq"), &Host::at(dir.path(), Tools::at(dir.path()))).await.unwrap_err();
        // The second attempt at the signatures went well; the volume group stays a fault, and what couldn't be asked twice: for the disk,
        // and for the array.
        assert_eq!(error.faults.len(), 3, "{error}");
        assert!(error.to_string().contains("dmsetup [deps -o devname gone]"), "{error}");
        let told = "vgremove [data -y], Error exit status 5, LastOutput \"held\"";
        assert!(error.to_string().ends_with(told), "{error}");
        assert_eq!(
            changes(dir.path()),
            [
                "vgremove data -y",
                "pvremove /dev/sdq2 -y -ff",
                "dmsetup remove --retry pool",
                "dmsetup remove --retry data-home",
                "dmsetup remove --retry pool_tdata",
                "dmsetup remove --retry pool_tmeta",
                "vgremove root -y",
                "pvremove /dev/md77 -y -ff",
                "mdadm --stop /dev/md77",
                "mdadm --zero-superblock /dev/sdq4",
                "wipefs --all --force /dev/sdq",
                "wipefs --all /dev/sdq",
            ]
        );
    }

    #[test]
    fn arrays_as_they_are_listed() {
        let scan = "ARRAY /dev/md/root level=raid1 num-devices=2\n   devices=/dev/sda1,/dev/sdb1\n\
                    INACTIVE-ARRAY /dev/md9 metadata=1.2\n   devices=/dev/sdz\nARRAY x\n";
        let expected =
            Array { device: "/dev/md/root".into(), members: vec!["/dev/sda1".into(), "/dev/sdb1".into()] };
        assert_eq!(arrays(scan), [expected]);
        assert_eq!(arrays("devices=/dev/sda\n\n"), []);
    }
}
