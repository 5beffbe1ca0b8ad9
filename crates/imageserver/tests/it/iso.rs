//! Small live images, made by xorriso.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What the ignition area of a base image is filled with, so that it is easily found.
pub const AREA: u8 = 0xee;
pub const AREA_SIZE: usize = 256 << 10;

/// Longer than all that is read ahead anywhere.
const ROOTFS_SIZE: usize = 6 << 20;

pub struct Iso {
    _dir: tempfile::TempDir,
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    pub rootfs: Vec<u8>,
    pub kernel: Vec<u8>,
    pub initrd: Vec<u8>,
}

impl Iso {
    /// An image for x86_64.
    pub fn x86_64() -> &'static Self {
        static ISO: OnceLock<Iso> = OnceLock::new();
        ISO.get_or_init(|| make(false))
    }

    /// An image for s390x.
    pub fn s390x() -> &'static Self {
        static ISO: OnceLock<Iso> = OnceLock::new();
        ISO.get_or_init(|| make(true))
    }

    /// Where the ignition area is.
    pub fn area(&self) -> usize {
        self.bytes.windows(4096).position(|window| window.iter().all(|byte| *byte == AREA)).unwrap()
    }

    pub fn url(&self) -> String {
        format!("file://{}", self.path.display())
    }
}

fn make(s390x: bool) -> Iso {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    let write = |path: &str, content: &[u8]| {
        let path = tree.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    let (rootfs, kernel, initrd) = (noise(1, ROOTFS_SIZE), noise(2, 70_000), noise(3, 100_001));
    write("images/pxeboot/rootfs.img", &rootfs);
    write("images/pxeboot/initrd.img", &initrd);
    write("coreos/features.json", br#"{"installer-config": true, "live-initrd-network": true}"#);
    if s390x {
        write("images/pxeboot/kernel.img", &kernel);
        let boot = [noise(4, 10_000), vec![AREA; AREA_SIZE], noise(5, 1000)].concat();
        write("images/cdboot.img", &boot);
        write("generic.ins", b"images/kernel.img 0x00000000\n");
        write("images/initrd.addrsize", &[0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x86, 0xa1]);
        let info = format!(r#"{{"file": "images/cdboot.img", "offset": 10000, "length": {AREA_SIZE}}}"#);
        write("coreos/igninfo.json", info.as_bytes());
    } else {
        write("images/pxeboot/vmlinuz", &kernel);
        write("images/ignition.img", &[AREA; AREA_SIZE]);
        write("coreos/igninfo.json", br#"{"file": "images/ignition.img"}"#);
        let kargs = "coreos.liveiso=rhcos-test ignition.firstboot ignition.platform.id=metal";
        let hashes = "#".repeat(1023);
        let grub = format!(
            "menuentry 'live' {{\n\tlinux /images/pxeboot/vmlinuz {kargs}\n{hashes}# COREOS_KARG_EMBED_AREA\n\tinitrd /images/pxeboot/initrd.img /images/ignition.img\n}}\n"
        );
        let isolinux = format!(
            "label linux\n  kernel /images/pxeboot/vmlinuz\n  append initrd=/images/pxeboot/initrd.img,/images/ignition.img {kargs}\n{hashes}# COREOS_KARG_EMBED_AREA\n"
        );
        write("EFI/redhat/grub.cfg", grub.as_bytes());
        write("isolinux/isolinux.cfg", isolinux.as_bytes());
        let description = format!(
            r#"{{"default": "{kargs}", "files": [{{"path": "EFI/redhat/grub.cfg", "offset": {}}}, {{"path": "isolinux/isolinux.cfg", "offset": {}}}], "size": {}}}"#,
            grub.find(kargs).unwrap(),
            isolinux.find(kargs).unwrap(),
            kargs.len() + 1 + 1023
        );
        write("coreos/kargs.json", description.as_bytes());
    }
    let path = dir.path().join("base.iso");
    xorriso(&tree, &path);
    let bytes = fs::read(&path).unwrap();
    Iso { _dir: dir, path, bytes, rootfs, kernel, initrd }
}

fn xorriso(tree: &Path, to: &Path) {
    let output = Command::new("xorriso")
        .args(["-as", "mkisofs", "-quiet", "-V", "rhcos-test", "-R", "-o"])
        .args([to, tree])
        .output()
        .expect("xorriso is missing: run `cargo xtask setup`");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The same bytes each time, and not like each other.
pub fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..size).map(|_| next()).collect()
}
