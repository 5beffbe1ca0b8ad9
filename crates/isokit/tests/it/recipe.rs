//! The recipe of a live ISO as CoreOS builds them, with a kernel and initramfs that only look like it (image-service §9).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use assisted_isokit::cpio::{Writer, compression};
use assisted_isokit::{Architecture, Image, Layout, ReadAt};
use tempfile::TempDir;

pub const VOLUME_ID: &str = "rhcos-418.94.202501221327-0";
pub const DEFAULT_KARGS: &str =
    "coreos.liveiso=rhcos-418.94.202501221327-0 ignition.firstboot ignition.platform.id=metal";
pub const IGNITION_AREA: u64 = 262_144;
/// Of the kernel arguments of s390x, inside the boot image.
const S390X_KARGS: (usize, usize) = (66_688, 896);
const S390X_IGNITION: usize = 70_000;
const HASHES: usize = 1023;

/// A built image; gone with this.
pub struct Built {
    pub dir: TempDir,
    pub path: PathBuf,
}

impl Built {
    pub fn open(&self) -> Image {
        Image::open(&self.path).unwrap()
    }

    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }
}

/// One image of each kind for all tests that only read.
pub static X86_64: LazyLock<Built> = LazyLock::new(|| build(Architecture::X86_64));
pub static ARM64: LazyLock<Built> = LazyLock::new(|| build(Architecture::Arm64));
pub static PPC64LE: LazyLock<Built> = LazyLock::new(|| build(Architecture::Ppc64le));
pub static S390X: LazyLock<Built> = LazyLock::new(|| build(Architecture::S390x));

pub fn build(architecture: Architecture) -> Built {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    write_tree(&tree, architecture);
    let path = dir.path().join("live.iso");
    xorriso(architecture, &tree, &path, &[]);
    Built { dir, path }
}

/// `extra`: further arguments of mkisofs.
pub fn xorriso(architecture: Architecture, tree: &Path, to: &Path, extra: &[&str]) {
    let mut command = Command::new("xorriso");
    command.args([
        "-as",
        "mkisofs",
        "-quiet",
        "-V",
        VOLUME_ID,
        "-volset",
        VOLUME_ID,
        "-r",
        "-J",
        "-joliet-long",
    ]);
    command.args(match architecture {
        Architecture::X86_64 => &[
            "-b",
            "isolinux/isolinux.bin",
            "-c",
            "isolinux/boot.cat",
            "-no-emul-boot",
            "-boot-load-size",
            "4",
            "-boot-info-table",
            "-eltorito-alt-boot",
            "-e",
            "images/efiboot.img",
            "-no-emul-boot",
            "-isohybrid-mbr",
            "/usr/lib/ISOLINUX/isohdpfx.bin",
            "-isohybrid-gpt-basdat",
        ][..],
        Architecture::Arm64 => &["-c", "boot.catalog", "-e", "images/efiboot.img", "-no-emul-boot"],
        Architecture::Ppc64le => &["-chrp-boot-part"],
        Architecture::S390x => {
            &["-b", "images/cdboot.img", "-c", "boot.catalog", "-no-emul-boot", "-boot-load-size", "1024"]
        }
    });
    let output = command.args(extra).arg("-o").arg(to).arg(tree).output().expect("run `cargo xtask setup`");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn write_tree(tree: &Path, architecture: Architecture) {
    let put = |path: &str, content: &[u8]| {
        let path = tree.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    put("images/pxeboot/vmlinuz", &kernel(architecture));
    put("images/pxeboot/initrd.img", &initrd());
    put("images/pxeboot/rootfs.img", &rootfs());
    put("coreos/features.json", br#"{"installer-config": true, "live-initrd-network": true}"#);
    put("coreos/miniso.dat", &[0; 16384]);
    if architecture == Architecture::S390x {
        let mut cdboot = noise(400_000);
        cdboot[S390X_IGNITION..S390X_IGNITION + IGNITION_AREA as usize].fill(0);
        let (at, len) = S390X_KARGS;
        cdboot[at..at + len].fill(0);
        cdboot[at..at + DEFAULT_KARGS.len()].copy_from_slice(DEFAULT_KARGS.as_bytes());
        put("images/cdboot.img", &cdboot);
        put(
            "images/initrd.addrsize",
            &[&[0; 4][..], &0x0200_0000u32.to_be_bytes(), &[0; 4], &[0, 0, 1, 0]].concat(),
        );
        put("generic.ins", b"images/pxeboot/vmlinuz 0x00000000\n");
        put(
            "coreos/igninfo.json",
            format!(
                r#"{{"file": "images/cdboot.img", "offset": {S390X_IGNITION}, "length": {IGNITION_AREA}}}"#
            )
            .as_bytes(),
        );
        put(
            "coreos/kargs.json",
            format!(
                r#"{{"default": "{DEFAULT_KARGS}", "files": [{{"path": "images/cdboot.img", "offset": {at}, "pad": "\u0000", "end": "\u0000"}}], "size": {len}}}"#
            )
            .as_bytes(),
        );
        return;
    }
    put("images/ignition.img", &vec![0; IGNITION_AREA as usize]);
    put("images/efiboot.img", &noise(70_001));
    put("coreos/igninfo.json", br#"{"file": "images/ignition.img"}"#);
    let hashes = "#".repeat(HASHES);
    let grub = format!(
        "set default=0\nmenuentry 'Live' {{\n\tlinux /images/pxeboot/vmlinuz {DEFAULT_KARGS}\n{hashes}# COREOS_KARG_EMBED_AREA\n\
         \tinitrd /images/pxeboot/initrd.img /images/ignition.img\n}}\n"
    );
    let isolinux = format!(
        "default linux\nlabel linux\n  kernel /images/pxeboot/vmlinuz\n  append initrd=/images/pxeboot/initrd.img,/images/ignition.img \
         {DEFAULT_KARGS}\n{hashes}# COREOS_KARG_EMBED_AREA\n"
    );
    let place = |path: &str, text: &str| {
        put(path, text.as_bytes());
        let offset = text.find(DEFAULT_KARGS).unwrap();
        format!("{{\"path\": \"{path}\", \"offset\": {offset}, \"pad\": \"#\", \"end\": \"\\n\"}}")
    };
    let files = match architecture {
        Architecture::Ppc64le => place("boot/grub/grub.cfg", &grub),
        _ => [place("EFI/redhat/grub.cfg", &grub), place("isolinux/isolinux.cfg", &isolinux)].join(", "),
    };
    let size = DEFAULT_KARGS.len() + 1 + HASHES;
    put(
        "coreos/kargs.json",
        format!("{{\"default\": \"{DEFAULT_KARGS}\", \"files\": [{files}], \"size\": {size}}}\n").as_bytes(),
    );
    match architecture {
        Architecture::X86_64 => {
            std::fs::copy("/usr/lib/ISOLINUX/isolinux.bin", tree.join("isolinux/isolinux.bin"))
                .expect("run `cargo xtask setup`");
        }
        Architecture::Ppc64le => put("ppc/bootinfo.txt", b"<chrp-boot></chrp-boot>\n"),
        _ => {}
    }
}

fn kernel(architecture: Architecture) -> Vec<u8> {
    let mut kernel = noise(50_000);
    let mut put = |at: usize, bytes: &[u8]| kernel[at..at + bytes.len()].copy_from_slice(bytes);
    match architecture {
        Architecture::X86_64 => put(0x202, b"HdrS"),
        Architecture::Arm64 => put(0x38, b"ARM\x64"),
        Architecture::Ppc64le => {
            put(0, b"\x7fELF\x02\x01");
            put(18, &[21, 0]);
        }
        Architecture::S390x => {}
    }
    kernel
}

fn initrd() -> Vec<u8> {
    let mut archive = Writer::new();
    archive.directory("etc", 0o755).directory("etc/coreos", 0o755);
    archive.file("etc/coreos-live-initramfs", 0o644, b"");
    archive.file(
        "etc/coreos/features.json",
        0o644,
        br#"{"installer-config": true, "live-initrd-network": true}"#,
    );
    let mut initrd = compression::gzip(&archive.finish()).unwrap();
    initrd.resize(initrd.len().next_multiple_of(4), 0);
    initrd
}

fn rootfs() -> Vec<u8> {
    let mut archive = Writer::new();
    archive.file("root.squashfs", 0o644, &noise(300_000));
    archive.finish()
}

/// The same bytes each time, of no pattern.
fn noise(len: usize) -> Vec<u8> {
    let mut state = len as u64 | 1;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect()
}

/// All bytes of a layout.
pub fn content(layout: &Layout) -> Vec<u8> {
    let mut content = vec![0; layout.len() as usize];
    layout.read_exact_at(&mut content, 0).unwrap();
    content
}

/// The layout as a file beside `built`.
pub fn save(built: &Built, layout: &Layout, name: &str) -> PathBuf {
    let path = built.dir.path().join(name);
    std::fs::write(&path, content(layout)).unwrap();
    path
}
