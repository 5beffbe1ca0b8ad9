//! The lab's operating system: a live image in the shape of CoreOS's, made from Debian packages.
//!
//! Nothing in it knows of the project but for `coreos-installer`, which every such image carries: the agent comes the way
//! it comes to any host, by Ignition. What is made depends on the recipe alone and is kept in the cache.

mod arguments;
mod disk;
mod efi;
mod iso;
mod key;
mod recipe;
mod root;
mod tool;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use assisted_lab_tools::wait::{Late, Wait};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

pub use recipe::{Kind, VERSION};
use sha2::{Digest, Sha256};
use tool::Tools;

/// How long somebody else's build of the same image is waited for.
const OTHERS: Duration = Duration::from_secs(45 * 60);

/// Files of a finished image.
const KEPT: &[&str] = &[
    "live.iso",
    "vmlinuz",
    "initrd.img",
    "rootfs.img",
    "metal.osmet",
    OS_IMAGE,
    "packages.txt",
    "build.log",
];

/// The image that images of nodes are built from, where there is one: a folder in the layout of OCI.
const OS_IMAGE: &str = "os-image";

/// What stands on the console when the live system has left its initramfs, whose greeting ends otherwise: colours are off
/// behind the name of Debian's release.
pub(crate) const GREETING: &str = "(bookworm)\u{1b}[0m!";

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("the lab image has not been built: run `cargo xtask setup` or `assisted-lab image build`")]
    Missing,
    #[error("the lab image for image mode has not been built: run `cargo xtask setup ostree-image`")]
    NoOstree,
    #[error(transparent)]
    Tools(#[from] assisted_lab_tools::Missing),
    #[error("{program} is not installed: run `cargo xtask setup`")]
    Tool { program: String },
    #[error("coreos-installer is not at {0}: run `cargo xtask setup`, or say where it is")]
    NoInstaller(PathBuf),
    #[error(
        "building an image needs root: it installs Debian packages into a folder and starts programs there"
    )]
    NotRoot,
    #[error("{program} failed ({status}); its log is {log}, and ends so:\n{tail}")]
    Failed { program: String, status: ExitStatus, log: PathBuf, tail: String },
    #[error(transparent)]
    Late(#[from] Late),
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

impl ImageError {
    fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// An image and its parts.
#[derive(Clone, Debug)]
pub struct Image {
    dir: PathBuf,
}

/// Something that was made.
#[derive(Clone, Debug)]
pub struct Step {
    pub what: &'static str,
    pub took: Duration,
}

impl Image {
    /// The image of this recipe from the cache.
    pub fn find(kind: Kind) -> Result<Self, ImageError> {
        let image = Self { dir: Self::default_dir(kind)? };
        match kind {
            _ if image.iso().is_file() => Ok(image),
            Kind::Plain => Err(ImageError::Missing),
            Kind::Ostree => Err(ImageError::NoOstree),
        }
    }

    /// Where the image of this recipe is kept: `$XDG_CACHE_HOME/assisted/lab/image-…` or `~/.cache/assisted/lab/image-…`.
    pub fn default_dir(kind: Kind) -> Result<PathBuf, ImageError> {
        Ok(assisted_lab_tools::cache()?.join("lab").join(format!("image-{}", key::key(kind))))
    }

    /// Builds the image into a folder, unless it is there; takes minutes, root, and Debian's packages. `done` is told of
    /// each step. Two that build the same at once build it once.
    pub fn build(
        kind: Kind,
        dir: &Path,
        installer: &Path,
        mut done: impl FnMut(Step),
    ) -> Result<Self, ImageError> {
        let image = Self { dir: dir.to_owned() };
        let parent = dir.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(parent).map_err(|error| ImageError::io(parent, error))?;
        let lock = dir.with_extension("lock");
        let locked = File::create(&lock).map_err(|error| ImageError::io(&lock, error))?;
        let log = dir.with_extension("unfinished").join("build.log");
        let mut wait = Wait::new("the image that another process builds", log.display(), OTHERS);
        while let Err(error) = flock(&locked, FlockOperation::NonBlockingLockExclusive) {
            match error {
                Errno::WOULDBLOCK => wait.pause(Duration::from_millis(200))?,
                error => return Err(ImageError::io(&lock, error.into())),
            }
        }
        if image.iso().is_file() {
            return Ok(image);
        }
        if !rustix::process::geteuid().is_root() {
            return Err(ImageError::NotRoot);
        }
        if !installer.is_file() {
            return Err(ImageError::NoInstaller(installer.to_owned()));
        }
        // Whoever was killed half-way left a folder that is no image.
        let unfinished = dir.with_extension("unfinished");
        if unfinished.exists() {
            std::fs::remove_dir_all(&unfinished).map_err(|error| ImageError::io(&unfinished, error))?;
        }
        std::fs::create_dir_all(&unfinished).map_err(|error| ImageError::io(&unfinished, error))?;
        let tools = Tools::new(&unfinished, &unfinished.join("build.log"))?;
        let building = Building { kind, dir: &unfinished, tools };
        building.step("root file system", &mut done, || root::make(&building, installer))?;
        if kind == Kind::Ostree {
            building.step("ostree system", &mut done, || root::lay_out(&building))?;
        }
        building.step("disk image", &mut done, || disk::make(&building, installer))?;
        building.step("root image", &mut done, || root::pack(&building))?;
        building.step("initramfs", &mut done, || root::finish_initrd(&building))?;
        building.step("EFI boot image", &mut done, || efi::make(&building, &key::volume(kind)))?;
        building.step("ISO", &mut done, || iso::make(&building, installer))?;
        building.remove_scraps()?;
        std::fs::rename(&unfinished, dir).map_err(|error| ImageError::io(dir, error))?;
        Ok(image)
    }

    /// The folder with all its files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The full live ISO.
    pub fn iso(&self) -> PathBuf {
        self.dir.join("live.iso")
    }

    /// The kernel, as on the ISO.
    pub fn kernel(&self) -> PathBuf {
        self.dir.join("vmlinuz")
    }

    /// The initramfs, as on the ISO.
    pub fn initrd(&self) -> PathBuf {
        self.dir.join("initrd.img")
    }

    /// The root file system's image, as on the ISO.
    pub fn rootfs(&self) -> PathBuf {
        self.dir.join("rootfs.img")
    }

    /// What the live system writes onto disks, described by its own files.
    pub fn disk(&self) -> PathBuf {
        self.dir.join("metal.osmet")
    }

    /// The image that images of nodes are built from, in the layout of OCI: of an image with ostree alone.
    pub fn os_image(&self) -> PathBuf {
        self.dir.join(OS_IMAGE)
    }

    /// Debian packages in it, `name version` a line.
    pub fn packages(&self) -> PathBuf {
        self.dir.join("packages.txt")
    }
}

/// An image that is being built.
struct Building<'a> {
    kind: Kind,
    dir: &'a Path,
    tools: Tools,
}

impl Building<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<PathBuf, ImageError> {
        let path = self.path(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| ImageError::io(parent, error))?;
        }
        std::fs::write(&path, content).map_err(|error| ImageError::io(&path, error))?;
        Ok(path)
    }

    fn step(
        &self,
        what: &'static str,
        done: &mut impl FnMut(Step),
        make: impl FnOnce() -> Result<(), ImageError>,
    ) -> Result<(), ImageError> {
        let started = Instant::now();
        make()?;
        done(Step { what, took: started.elapsed() });
        Ok(())
    }

    /// Removes what only the build needed.
    fn remove_scraps(&self) -> Result<(), ImageError> {
        let io = |error| ImageError::io(self.dir, error);
        for entry in std::fs::read_dir(self.dir).map_err(io)? {
            let entry = entry.map_err(io)?;
            if KEPT.iter().any(|kept| entry.file_name() == *kept) {
                continue;
            }
            let removed = match entry.file_type().map_err(io)?.is_dir() {
                true => std::fs::remove_dir_all(entry.path()),
                false => std::fs::remove_file(entry.path()),
            };
            removed.map_err(|error| ImageError::io(&entry.path(), error))?;
        }
        Ok(())
    }
}

/// The SHA-256 digest of a file, in hexadecimal digits.
fn digest(path: &Path) -> Result<String, ImageError> {
    let io = |error| ImageError::io(path, error);
    let mut file = File::open(path).map_err(io)?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece).map_err(io)? {
            0 => break,
            count => hash.update(&piece[..count]),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
