//! What tests make packages of: the programs that are built, a key, what Cargo says.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use assisted_oci::Packing;
use assisted_package::image::{Inputs, Kind};
use assisted_package::sbom::Crates;
use assisted_testkit::{built, built_for_hosts};

pub const CREATED: &str = "2026-01-02T03:04:05Z";
pub const MACHINE: &str = std::env::consts::ARCH;

pub fn run(command: &mut Command) -> String {
    let output =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}: run `cargo xtask setup`"));
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

/// From the root of the workspace on.
pub fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The programs: that for hosts as it ships; the service as it is tried, without what only debuggers read.
pub fn programs() -> &'static Path {
    static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        // Kept from run to run: a copy of the service takes a while to be made.
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("package-programs");
        let to = dir.join(MACHINE);
        fs::create_dir_all(&to).unwrap();
        let host = to.join("assisted-host");
        drop(fs::remove_file(&host));
        symlink(built_for_hosts().unwrap(), &host).unwrap();
        let service = built("assisted").unwrap();
        let copy = to.join("assisted");
        let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
        if changed(&copy) < changed(&service) {
            let new = to.join(format!("assisted.{}", std::process::id()));
            run(Command::new("strip").arg("-o").arg(&new).arg(&service));
            fs::rename(&new, &copy).unwrap();
        }
        dir
    })
}

/// A folder with what the service is linked with as long as it is tried.
pub fn libraries(to: &Path) {
    let text = run(Command::new("ldd").arg(programs().join(MACHINE).join("assisted")));
    for library in text.split_whitespace().filter(|word| word.starts_with('/') && !word.ends_with(':')) {
        let place = to.join(library.trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(library, &place).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Inputs for images under `registry`, with libraries in a folder.
pub fn inputs(registry: &str, libraries: &Path) -> Inputs {
    let names = Kind::ALL.map(|kind| (kind, format!("{registry}/assisted/{}:1", kind.name())));
    let added = [Kind::Service, Kind::Controller].map(|kind| (kind, libraries.to_owned()));
    Inputs {
        programs: programs().to_owned(),
        certificates: "/etc/ssl/certs/ca-certificates.crt".into(),
        revision: "0123456789abcdef".to_owned(),
        created: CREATED.to_owned(),
        names: names.into(),
        oc: BTreeMap::new(),
        added: added.into(),
        may_be_dynamic: true,
        packing: Packing::Quick,
    }
}

/// What Cargo says of the crates.
pub fn crates() -> BTreeMap<String, Crates> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root("")).args(["metadata", "--format-version", "1", "--locked", "--offline"]);
    let output = cargo.args(["--filter-platform", &format!("{MACHINE}-unknown-linux-gnu")]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lock = fs::read_to_string(root("Cargo.lock")).unwrap();
    BTreeMap::from([(MACHINE.to_owned(), Crates::read(&output.stdout, &lock).unwrap())])
}

/// A key of openssl's, as people make one.
pub fn key(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    let mut openssl = Command::new("openssl");
    openssl.args(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out"]).arg(&path);
    run(&mut openssl);
    path
}
