//! What a machine is made of, and QEMU's options for it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::MachineError;

/// The hardware of a machine, and what it boots.
#[derive(Clone, Debug)]
pub struct Spec {
    /// For people, in errors and logs; and the host name that DHCP gives.
    pub name: String,
    /// Identity of the machine: its SMBIOS system UUID.
    pub uuid: Uuid,
    pub firmware: Firmware,
    pub boot: Boot,
    /// Whether a CD is tried before the disks.
    pub medium_first: bool,
    pub memory_mib: u32,
    pub cpus: u32,
    pub disks: Vec<Disk>,
    pub nics: Vec<Nic>,
}

/// The medium that a machine boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firmware {
    Bios,
    Uefi,
}

/// What a machine boots when its disks have nothing to boot.
#[derive(Clone, Debug)]
pub enum Boot {
    /// An image in the CD drive.
    Cd(PathBuf),
    /// An image on a USB stick; with a BIOS also when a disk has something to boot.
    Usb(PathBuf),
    /// A kernel, an initramfs and a command line, given by QEMU.
    Kernel { kernel: PathBuf, initrd: PathBuf, arguments: String },
    /// iPXE on the first network card: DHCP names `file`, which is fetched from the folder `tftp`, or is itself an address.
    Network { tftp: PathBuf, file: String },
    /// Nothing else.
    Disk,
}

/// A virtio disk, zeros at first.
#[derive(Clone, Debug)]
pub struct Disk {
    pub bytes: u64,
}

/// A virtio network card.
#[derive(Clone, Debug)]
pub struct Nic {
    /// `52:54:00:…`
    pub mac: String,
    pub link: Link,
}

/// What a network card is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// A network of its own, `10.0.N.0/24`: the host is `10.0.N.2`, its loopback services included, DHCP gives addresses from
    /// `10.0.N.15` on, DNS is at `10.0.N.3`.
    Alone(u8),
    /// The tap of this name, in the network that the machine is started in.
    Tap(String),
}

impl Spec {
    /// A machine with a firmware and something to boot: two processors, 2 GiB, one network card, no disk.
    pub fn new(name: &str, firmware: Firmware, boot: Boot) -> Self {
        let nic = Nic { mac: "52:54:00:00:00:01".to_owned(), link: Link::Alone(2) };
        Self {
            name: name.to_owned(),
            uuid: Uuid::new_v4(),
            firmware,
            boot,
            medium_first: false,
            memory_mib: 2048,
            cpus: 2,
            disks: Vec::new(),
            nics: vec![nic],
        }
    }

    /// QEMU's options for everything but what runs it.
    pub(super) fn arguments(&self, dir: &Path) -> Result<Vec<OsString>, MachineError> {
        let mut all = Options(Vec::new());
        all.add("-name", &self.name);
        all.add("-uuid", self.uuid.to_string());
        all.add("-machine", "q35");
        all.add("-m", self.memory_mib.to_string());
        all.add("-smp", self.cpus.to_string());
        all.add("-display", "none");
        all.flag("-nodefaults");
        all.flag("-no-user-config");
        all.add("-chardev", "stdio,id=console,signal=off");
        all.add("-serial", "chardev:console");
        all.add("-qmp", with_path("unix:", &monitor_path(dir), ""));
        // Without one, programs that need random numbers early wait for them.
        all.add("-device", "virtio-rng-pci");
        self.firmware(&mut all, dir)?;
        self.disks(&mut all, dir);
        // Before the medium: a stick brings a controller, and without it the cards would stand elsewhere and be named otherwise.
        self.nics(&mut all);
        self.boot(&mut all);
        Ok(all.0)
    }

    fn firmware(&self, all: &mut Options, dir: &Path) -> Result<(), MachineError> {
        if self.firmware == Firmware::Uefi {
            let code = present("/usr/share/OVMF/OVMF_CODE_4M.fd")?;
            all.add("-drive", with_path("if=pflash,unit=0,format=raw,readonly=on,file=", &code, ""));
            all.add("-drive", with_path("if=pflash,unit=1,format=raw,file=", &variables_path(dir), ""));
        }
        Ok(())
    }

    fn disks(&self, all: &mut Options, dir: &Path) {
        for number in 0..self.disks.len() {
            // Nobody needs these disks after the power of the real machine failed.
            let drive = format!("if=none,id=disk{number},format=raw,cache=unsafe,discard=unmap,file=");
            all.add("-drive", with_path(&drive, &disk_path(dir, number), ""));
            all.add(
                "-device",
                format!(
                    "virtio-blk-pci,drive=disk{number},serial=disk{number},bootindex={}",
                    self.turn_of_disks() + number
                ),
            );
        }
    }

    /// A BIOS tries one disk of all, and to it a stick is a disk: there the stick comes first.
    fn turn_of_disks(&self) -> usize {
        let stick = self.firmware == Firmware::Bios && matches!(self.boot, Boot::Usb(_));
        usize::from(stick || self.medium_first)
    }

    /// When the medium's turn is.
    fn turn_of_medium(&self) -> usize {
        if self.turn_of_disks() > 0 { 0 } else { self.disks.len() }
    }

    fn boot(&self, all: &mut Options) {
        let turn = self.turn_of_medium();
        match &self.boot {
            Boot::Cd(image) => {
                all.add("-drive", with_path("if=none,id=medium,media=cdrom,readonly=on,file=", image, ""));
                all.add("-device", format!("ide-cd,drive=medium,bootindex={turn}"));
            }
            Boot::Usb(image) => {
                all.add("-device", "qemu-xhci,id=usb");
                all.add("-drive", with_path("if=none,id=medium,format=raw,readonly=on,file=", image, ""));
                all.add("-device", format!("usb-storage,bus=usb.0,drive=medium,bootindex={turn}"));
            }
            Boot::Kernel { kernel, initrd, arguments } => {
                all.add("-kernel", kernel);
                all.add("-initrd", initrd);
                all.add("-append", arguments);
            }
            // On the network card.
            Boot::Network { .. } | Boot::Disk => {}
        }
    }

    fn nics(&self, all: &mut Options) {
        for (number, Nic { mac, link }) in self.nics.iter().enumerate() {
            let name = self.name.replace(',', ",,");
            let base = match link {
                Link::Alone(network) => {
                    format!("user,id=net{number},net=10.0.{network}.0/24,hostname={name}")
                }
                Link::Tap(tap) => format!("tap,id=net{number},ifname={tap},script=no,downscript=no"),
            };
            let device = format!("virtio-net-pci,netdev=net{number},mac={mac}");
            match &self.boot {
                Boot::Network { tftp, file } if number == 0 => {
                    let file = file.replace(',', ",,");
                    all.add(
                        "-netdev",
                        with_path(&format!("{base},tftp="), tftp, &format!(",bootfile={file}")),
                    );
                    all.add("-device", format!("{device},bootindex={}", self.disks.len()));
                }
                _ => {
                    all.add("-netdev", base);
                    // Without its ROM: looking for something to boot there takes time.
                    all.add("-device", format!("{device},romfile="));
                }
            }
        }
    }
}

impl Firmware {
    /// What its variables are at first, where it has any.
    pub(super) fn variables(self) -> Result<Option<PathBuf>, MachineError> {
        match self {
            Self::Bios => Ok(None),
            Self::Uefi => present("/usr/share/OVMF/OVMF_VARS_4M.fd").map(Some),
        }
    }
}

fn present(path: &str) -> Result<PathBuf, MachineError> {
    let path = PathBuf::from(path);
    if path.is_file() { Ok(path) } else { Err(MachineError::Missing { what: path.display().to_string() }) }
}

pub(super) fn disk_path(dir: &Path, number: usize) -> PathBuf {
    dir.join(format!("disk{number}.raw"))
}

pub(super) fn variables_path(dir: &Path) -> PathBuf {
    dir.join("firmware-variables.fd")
}

pub(super) fn monitor_path(dir: &Path) -> PathBuf {
    dir.join("qmp")
}

/// A path inside an option, where a comma ends the value unless it is doubled.
fn with_path(before: &str, path: &Path, after: &str) -> OsString {
    let mut option = OsString::from(before);
    option.push(path.to_string_lossy().replace(',', ",,"));
    option.push(after);
    option
}

struct Options(Vec<OsString>);

impl Options {
    fn add(&mut self, name: &str, value: impl Into<OsString>) {
        self.0.extend([name.into(), value.into()]);
    }

    fn flag(&mut self, name: &str) {
        self.0.push(name.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(spec: &Spec) -> Vec<String> {
        let words = spec.arguments(Path::new("/tmp/a,b")).unwrap();
        words.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    fn with(spec: &Spec, start: &str) -> Vec<String> {
        words(spec).into_iter().filter(|word| word.starts_with(start)).collect()
    }

    #[test]
    fn disks_come_before_the_medium_and_paths_are_quoted() {
        let mut spec = Spec::new("one", Firmware::Bios, Boot::Cd("/x,y.iso".into()));
        spec.disks = vec![Disk { bytes: 1 }, Disk { bytes: 1 }];
        let words = words(&spec);
        assert!(words.iter().any(|word| word.ends_with("file=/tmp/a,,b/disk1.raw")), "{words:?}");
        assert!(words.iter().any(|word| word.ends_with("media=cdrom,readonly=on,file=/x,,y.iso")));
        assert!(words.contains(&"ide-cd,drive=medium,bootindex=2".to_owned()));
        assert!(words.contains(&"virtio-blk-pci,drive=disk0,serial=disk0,bootindex=0".to_owned()));
    }

    #[test]
    fn a_bios_boots_the_stick_and_uefi_the_disk_first() {
        for (firmware, stick, disk) in [(Firmware::Bios, 0, 1), (Firmware::Uefi, 1, 0)] {
            let mut spec = Spec::new("one", firmware, Boot::Usb("/x.iso".into()));
            spec.disks = vec![Disk { bytes: 1 }];
            assert!(with(&spec, "usb-storage")[0].ends_with(&format!(",bootindex={stick}")));
            assert!(with(&spec, "virtio-blk-pci")[0].ends_with(&format!(",bootindex={disk}")));
        }
    }

    #[test]
    fn only_a_card_that_boots_keeps_its_rom() {
        let network = Boot::Network { tftp: "/srv".into(), file: "a,b".to_owned() };
        let mut spec = Spec::new("two", Firmware::Bios, network);
        spec.nics.push(Nic { mac: "52:54:00:00:00:02".to_owned(), link: Link::Tap("tap7".to_owned()) });
        assert_eq!(
            with(&spec, "user,"),
            ["user,id=net0,net=10.0.2.0/24,hostname=two,tftp=/srv,bootfile=a,,b"]
        );
        assert_eq!(with(&spec, "tap,"), ["tap,id=net1,ifname=tap7,script=no,downscript=no"]);
        assert_eq!(
            with(&spec, "virtio-net-pci"),
            [
                "virtio-net-pci,netdev=net0,mac=52:54:00:00:00:01,bootindex=0",
                "virtio-net-pci,netdev=net1,mac=52:54:00:00:00:02,romfile="
            ]
        );
    }
}
