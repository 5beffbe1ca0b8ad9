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
    /// The feature that it has besides its usual ones; empty: none.
    features: &'static str,
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
                features: "",
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
                features: "",
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
                features: "",
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
                features: "",
            },
        }
    }

    /// What the service is made with, where it isn't what the program for hosts is made with: its database is written in C, and must be
    /// compiled for the C library that it is linked with.
    const fn service_tools(self) -> Tools {
        match self {
            Self::X86_64 => {
                Tools { compiler: "musl-gcc", packages: &[MUSL], features: "jemalloc", ..self.tools() }
            }
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
        let place = Place::here(target_dir)?;
        step(&format!("{package} for {}", self.name()), &mut tools.build(package, profile, &place))?;
        Ok(place.program(package, profile, tools))
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

impl Tools {
    /// What builds a program of the workspace. Each build of a folder has the same flags: with others, all would be built anew.
    fn build(&self, package: &str, profile: &str, place: &Place) -> Command {
        let lower = self.triple.replace('-', "_");
        let args = ["build", "--profile", profile, "--package", package, "--target", self.triple];
        let flags: Vec<_> = self.flags.split_whitespace().map(str::to_owned).chain(place.renamed()).collect();
        let mut build = cargo(&args);
        build
            .current_dir(&place.checkout)
            .args(["--features", self.features, "--target-dir"])
            .arg(&place.target_dir)
            .env("CARGO_HOME", &place.cargo_home)
            .env(format!("CARGO_TARGET_{}_LINKER", lower.to_uppercase()), self.linker)
            .env(format!("CC_{lower}"), self.compiler)
            .env(format!("AR_{lower}"), self.archiver)
            // Encoded, a flag may have spaces in it. Those of others don't count, since they would give another program.
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
            .env_remove("RUSTFLAGS");
        build
    }
}

/// The folders that a program is built of, and in.
struct Place {
    checkout: PathBuf,
    cargo_home: PathBuf,
    target_dir: PathBuf,
}

impl Place {
    /// This checkout, and a folder to build into.
    fn here(target_dir: &Path) -> Result<Self> {
        let named = std::env::var_os("CARGO_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let cargo_home = named.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
        let cargo_home = cargo_home.context("there is no home for cargo: CARGO_HOME names one")?;
        Ok(Self { checkout: root(), cargo_home, target_dir: target_dir.to_owned() })
    }

    fn program(&self, package: &str, profile: &str, tools: &Tools) -> PathBuf {
        self.target_dir.join(tools.triple).join(profile).join(package)
    }

    /// Flags by which a program tells nothing of these folders, and is the same wherever they are. Where several of them fit a path, the
    /// compiler takes the last.
    fn renamed(&self) -> Vec<String> {
        let mut folders =
            [(&self.cargo_home, "/cargo"), (&self.checkout, "/assisted"), (&self.target_dir, "/target")];
        folders.sort_by_key(|(folder, _)| folder.as_os_str().len());
        let flag =
            |(folder, name): &(&PathBuf, &str)| format!("--remap-path-prefix={}={name}", folder.display());
        folders.iter().map(flag).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::run::{files, target_dir};

    #[test]
    fn the_folder_that_fits_best_is_named_last() {
        let place = Place {
            checkout: "/a".into(),
            cargo_home: "/a/cargo".into(),
            target_dir: "/a/folder of builds".into(),
        };
        let flags = [
            "--remap-path-prefix=/a=/assisted",
            "--remap-path-prefix=/a/cargo=/cargo",
            "--remap-path-prefix=/a/folder of builds=/target",
        ];
        assert_eq!(place.renamed(), flags);
    }

    /// Copies the files below a folder, those in some folders apart.
    fn copy(from: &Path, to: &Path, without: &[PathBuf]) {
        for file in files(from, &|path| without.iter().all(|other| other != path)).unwrap() {
            let copy = to.join(file.strip_prefix(from).unwrap());
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(&file, &copy).unwrap();
        }
    }

    /// A copy of this checkout in a folder, with the web UI that is built, and with a home of cargo.
    fn copied(dir: &Path, cargo_home: PathBuf) -> Place {
        let (here, target) = (root(), target_dir().unwrap());
        let place = Place { checkout: dir.join("checkout"), cargo_home, target_dir: dir.join("built") };
        let without = [here.join(".git"), here.join("dist"), here.join("ui/node_modules"), target.clone()];
        copy(&here, &place.checkout, &without);
        fs::create_dir_all(&place.target_dir).unwrap();
        // Cargo marks a folder that it has made by this, by which the UI in it is found.
        fs::write(place.target_dir.join("CACHEDIR.TAG"), "").unwrap();
        let ui = target.join("ui");
        if ui.is_dir() {
            copy(&ui, &place.target_dir.join("ui"), &[]);
        }
        place
    }

    /// Builds a program in a place, with settings for the profile.
    fn built(
        place: &Place,
        package: &str,
        profile: &str,
        tools: &Tools,
        settings: &[(&str, &str)],
    ) -> Vec<u8> {
        let mut build = tools.build(package, profile, place);
        step(package, build.envs(settings.iter().copied())).unwrap();
        fs::read(place.program(package, profile, tools)).unwrap()
    }

    #[test]
    fn everything_that_ships_is_the_same_wherever_it_is_built() {
        let dir = target_dir().unwrap().join("tmp/two-checkouts");
        drop(fs::remove_dir_all(&dir));
        let own = Place::here(&dir).unwrap().cargo_home;
        // Another home, with the same in it.
        let home = dir.join("another/home");
        fs::create_dir_all(&home).unwrap();
        for entry in fs::read_dir(&own).unwrap() {
            let entry = entry.unwrap();
            symlink(entry.path(), home.join(entry.file_name())).unwrap();
        }
        let places = [copied(&dir.join("one"), own.clone()), copied(&dir.join("another"), home)];
        // To optimise the service takes longer than all else here, and puts no paths into it.
        let as_it_ships: &[(&str, &str)] = &[];
        let lean: &[(&str, &str)] = &[
            ("CARGO_PROFILE_RELEASE_LTO", "off"),
            ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
            ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
        ];
        let machine = Machine::X86_64;
        for (package, profile, tools, settings) in [
            ("assisted-host", "host", machine.tools(), as_it_ships),
            ("assisted", "release", machine.service_tools(), lean),
        ] {
            machine.prepare(&tools).unwrap();
            let [one, another] =
                places.each_ref().map(|place| built(place, package, profile, &tools, settings));
            assert!(one == another, "{package} is another one in {}", dir.display());
            for told in [dir.clone(), own.join("registry")] {
                let told = told.display().to_string();
                let is_there = one.windows(told.len()).any(|part| part == told.as_bytes());
                assert!(!is_there, "{package} tells of {told}");
            }
        }
        fs::remove_dir_all(&dir).unwrap();
    }
}
