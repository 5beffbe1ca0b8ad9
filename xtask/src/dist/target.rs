//! The architectures that hosts have, and with what a program for them is built on this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::debian::{Package, has_program, install};
use crate::run::{cargo, root, step};

/// An architecture, as the kernel names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Machine {
    #[value(name = "x86_64")]
    X86_64,
    Aarch64,
    S390x,
    Ppc64le,
}

/// How a program for it is made. Each is static: a host has nothing that it could need.
struct Tools {
    triple: &'static str,
    /// What links: Rust's own linker where Rust brings the C library, Debian's compiler where Debian does.
    linker: &'static str,
    flags: &'static str,
    /// What compiles the few parts that are not Rust, and packs them.
    compiler: &'static str,
    archiver: &'static str,
    /// Debian's packages with them.
    packages: &'static [Package],
}

const EMULATOR: Package =
    Package { name: "qemu-user-static", present: || has_program("qemu-aarch64-static") };

/// What compiles C for a program without glibc.
const MUSL: Package = Package { name: "musl-tools", present: || has_program("musl-gcc") };

/// Has glibc linked in as well.
const STATIC: &str = "-C target-feature=+crt-static";

/// Whether Debian's C library for a target is here, for static programs.
fn has_libc(target: &str) -> bool {
    Path::new("/usr").join(target).join("lib/libc.a").is_file()
}

impl Machine {
    pub const ALL: [Self; 4] = [Self::X86_64, Self::Aarch64, Self::S390x, Self::Ppc64le];

    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
            Self::S390x => "s390x",
            Self::Ppc64le => "ppc64le",
        }
    }

    const fn tools(self) -> Tools {
        match self {
            Self::X86_64 => Tools {
                triple: "x86_64-unknown-linux-musl",
                linker: "rust-lld",
                flags: "",
                compiler: "cc",
                archiver: "ar",
                packages: &[],
            },
            Self::Aarch64 => Tools {
                triple: "aarch64-unknown-linux-musl",
                linker: "rust-lld",
                flags: "",
                compiler: "aarch64-linux-gnu-gcc",
                archiver: "aarch64-linux-gnu-ar",
                packages: &[
                    EMULATOR,
                    Package {
                        name: "gcc-aarch64-linux-gnu",
                        present: || has_program("aarch64-linux-gnu-gcc"),
                    },
                    Package { name: "libc6-dev-arm64-cross", present: || has_libc("aarch64-linux-gnu") },
                ],
            },
            Self::S390x => Tools {
                triple: "s390x-unknown-linux-gnu",
                linker: "s390x-linux-gnu-gcc",
                flags: STATIC,
                compiler: "s390x-linux-gnu-gcc",
                archiver: "s390x-linux-gnu-ar",
                packages: &[
                    EMULATOR,
                    Package { name: "gcc-s390x-linux-gnu", present: || has_program("s390x-linux-gnu-gcc") },
                    Package { name: "libc6-dev-s390x-cross", present: || has_libc("s390x-linux-gnu") },
                ],
            },
            Self::Ppc64le => Tools {
                triple: "powerpc64le-unknown-linux-gnu",
                linker: "powerpc64le-linux-gnu-gcc",
                flags: STATIC,
                compiler: "powerpc64le-linux-gnu-gcc",
                archiver: "powerpc64le-linux-gnu-ar",
                packages: &[
                    EMULATOR,
                    Package {
                        name: "gcc-powerpc64le-linux-gnu",
                        present: || has_program("powerpc64le-linux-gnu-gcc"),
                    },
                    Package {
                        name: "libc6-dev-ppc64el-cross",
                        present: || has_libc("powerpc64le-linux-gnu"),
                    },
                ],
            },
        }
    }

    /// What the service is made with, where it isn't what the program for hosts is made with: its database is written in C, and must be
    /// compiled for the C library that it is linked with.
    const fn service_tools(self) -> Tools {
        match self {
            Self::X86_64 => Tools { compiler: "musl-gcc", packages: &[MUSL], ..self.tools() },
            // Debian has no C library but its own for other architectures.
            Self::Aarch64 => Tools {
                triple: "aarch64-unknown-linux-gnu",
                linker: "aarch64-linux-gnu-gcc",
                flags: STATIC,
                ..self.tools()
            },
            Self::S390x | Self::Ppc64le => self.tools(),
        }
    }

    /// What runs a program of this architecture here; nothing where the machine itself does.
    pub fn emulator(self) -> Option<String> {
        (self.name() != std::env::consts::ARCH).then(|| format!("qemu-{}-static", self.name()))
    }

    /// The target of Rust for hosts.
    pub const fn triple(self) -> &'static str {
        self.tools().triple
    }

    /// Builds the program for hosts by a profile of Cargo, with what that takes; where it is.
    pub fn build(self, profile: &str, target_dir: &Path) -> Result<PathBuf> {
        self.program("assisted-host", profile, &self.tools(), target_dir)
    }

    /// Builds the service by a profile of Cargo, with what that takes; where it is.
    pub fn build_service(self, profile: &str, target_dir: &Path) -> Result<PathBuf> {
        self.program("assisted", profile, &self.service_tools(), target_dir)
    }

    fn program(self, package: &str, profile: &str, tools: &Tools, target_dir: &Path) -> Result<PathBuf> {
        self.prepare(tools)?;
        let (lower, upper) = (tools.triple.replace('-', "_"), tools.triple.replace('-', "_").to_uppercase());
        let args = ["build", "--profile", profile, "--package", package, "--target", tools.triple];
        let mut build = cargo(&args);
        build
            .env(format!("CARGO_TARGET_{upper}_LINKER"), tools.linker)
            .env(format!("CC_{lower}"), tools.compiler)
            .env(format!("AR_{lower}"), tools.archiver);
        if !tools.flags.is_empty() {
            build.env(format!("CARGO_TARGET_{upper}_RUSTFLAGS"), tools.flags);
        }
        step(&format!("{package} for {}", self.name()), &mut build)?;
        Ok(target_dir.join(tools.triple).join(profile).join(package))
    }

    /// Installs what building takes: Debian's packages, Rust's library.
    fn prepare(self, tools: &Tools) -> Result<()> {
        install(tools.packages)?;
        let mut ask = Command::new("rustc");
        ask.args(["--print", "target-libdir", "--target", tools.triple]).current_dir(root());
        let answer = ask.output().context("can't run rustc")?;
        if Path::new(String::from_utf8_lossy(&answer.stdout).trim()).is_dir() {
            return Ok(());
        }
        if !has_program("rustup") {
            bail!(
                "Rust's library for {0} is missing: install it (with rustup: rustup target add {0})",
                tools.triple
            );
        }
        let mut add = Command::new("rustup");
        step(
            &format!("Rust's library for {}", self.name()),
            add.args(["target", "add", tools.triple]).current_dir(root()),
        )
    }
}
