//! What tests make packages of: the programs that are built, a key, what Cargo says.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use assisted_oci::Packing;
use assisted_package::image::{Inputs, Kind};
use assisted_package::sbom::Crates;
use assisted_testkit::wait::{Wait, child};
use assisted_testkit::{built, built_for_hosts};

/// How long a command may take; some build what ships.
const COMMAND: Duration = Duration::from_secs(100 * 60);

pub const CREATED: &str = "2026-01-02T03:04:05Z";
pub const MACHINE: &str = std::env::consts::ARCH;
/// An architecture that this machine is not of.
pub const OTHER: &str = "aarch64";

pub fn run(command: &mut Command) -> String {
    let mut wait =
        Wait::new(format!("the end of {command:?}"), "its output, which is shown at its end", COMMAND);
    let output = child::output(command, &mut wait)
        .unwrap_or_else(|error| panic!("{command:?}: {error}: run `cargo xtask setup`"));
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

/// What Cargo says of the crates, and npm of the web UI.
pub fn crates() -> BTreeMap<String, Crates> {
    let triples =
        [(MACHINE, format!("{MACHINE}-unknown-linux-gnu")), (OTHER, format!("{OTHER}-unknown-linux-musl"))];
    let [lock, ui_lock] =
        ["Cargo.lock", "ui/package-lock.json"].map(|path| fs::read_to_string(root(path)).unwrap());
    let of = |triple: &str| {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(root("")).args(["metadata", "--format-version", "1", "--locked", "--offline"]);
        let output = cargo.args(["--filter-platform", triple]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Crates::read(&output.stdout, &lock, &ui_lock).unwrap()
    };
    triples.iter().map(|(name, triple)| ((*name).to_owned(), of(triple))).collect()
}

/// A folder with the programs of this machine and, for hosts of another architecture, the smallest program: lists of images are about
/// where a program stands, and not about what it does.
pub fn programs_of_two(dir: &Path) -> PathBuf {
    let to = dir.join("programs");
    fs::create_dir_all(to.join(OTHER)).unwrap();
    symlink(programs().join(MACHINE), to.join(MACHINE)).unwrap();
    fs::write(to.join(OTHER).join("assisted-host"), ends_at_once()).unwrap();
    to
}

/// A static program of 128 bytes for the other architecture, which ends at once.
fn ends_at_once() -> Vec<u8> {
    let mut program = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let (place, head, segment, length) = (0x40_0000_u64, 64_u64, 56_u64, 128_u64);
    let number =
        |program: &mut Vec<u8>, value: u64, size: usize| program.extend(&value.to_le_bytes()[..size]);
    // An executable for AArch64, and where it begins: behind its heads.
    for (value, size) in [(2, 2), (183, 2), (1, 4), (place + head + segment, 8), (head, 8), (0, 8), (0, 4)] {
        number(&mut program, value, size);
    }
    for value in [head, segment, 1, 0, 0, 0] {
        number(&mut program, value, 2);
    }
    // One segment, which is read and run.
    for (value, size) in
        [(1, 4), (5, 4), (0, 8), (place, 8), (place, 8), (length, 8), (length, 8), (0x1000, 8)]
    {
        number(&mut program, value, size);
    }
    // exit_group is call 94; its argument is a register that is 0.
    number(&mut program, 0xd280_0bc8, 4);
    number(&mut program, 0xd400_0001, 4);
    program
}

/// A key of openssl's, as people make one.
pub fn key(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    let mut openssl = Command::new("openssl");
    openssl.args(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out"]).arg(&path);
    run(&mut openssl);
    path
}
