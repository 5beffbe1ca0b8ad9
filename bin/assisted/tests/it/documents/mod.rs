//! What the documents tell people to type, typed as it stands.

mod block;
mod checkout;
mod session;

use std::process::Command;

use assisted_testkit::oci::OPENSHIFT_INSTALL;
use assisted_testkit::{LiveImage, built};
use serde_json::Value;

use self::block::{Block, Needs, blocks, documents, root};
use self::session::{Network, Session};
use crate::releases::Releases;
use crate::service::{Service, text};
use crate::{images, mirror};

/// The documents with commands that a test below types.
const TYPED: &[&str] = &[
    "README.md",
    "docs/agent.md",
    "docs/backup.md",
    "docs/disconnected.md",
    "docs/first-hour.md",
    "docs/generation.md",
    "docs/image-mode.md",
    "docs/images.md",
    "docs/installer.md",
    "docs/manifests.md",
    "docs/networking.md",
    "docs/operations.md",
    "docs/static-networking.md",
    "docs/ui.md",
    "docs/users.md",
    "docs/ways.md",
    "docs/work.md",
];

/// Those whose commands a test of another crate types: it has what they need.
const TYPED_ELSEWHERE: &[(&str, &str)] = &[
    ("docs/capi.md", "crates/capi/tests/it/everything_document.rs"),
    ("docs/deploy.md", "crates/package/tests/it/make.rs"),
    ("docs/kube-api.md", "crates/kubeapi/tests/it/controllers/walk.rs"),
    ("docs/lab.md", "lab/tests/it/document.rs"),
];

/// The blocks of a document that need no more than others.
fn runnable(document: &str, needs: Needs) -> Vec<Block> {
    assert!(TYPED.contains(&document), "{document}");
    let found: Vec<_> =
        blocks(document).into_iter().filter(|block| block.needs().unwrap() == Some(needs)).collect();
    assert!(!found.is_empty(), "{document} has no such blocks");
    found
}

/// Types all commands of a document.
fn follow(document: &str, session: &mut Session) {
    for block in runnable(document, Needs::Nothing) {
        for command in block.commands() {
            match command.strip_prefix("cargo build ") {
                Some(arguments) => release(&block, arguments, session),
                None if command.contains("Ctrl-C") => session.watch(command, |said| !said.trim().is_empty()),
                None => session.follow(command),
            }
        }
    }
}

/// Puts what a release build would make where it would be, without building it once more.
fn release(block: &Block, arguments: &str, session: &Session) {
    let words: Vec<_> = arguments.split(" #").next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(words.first(), Some(&"--release"), "{}: {arguments}", block.place());
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let mut asked: Vec<_> =
        words.windows(2).filter(|pair| pair[0] == "-p").map(|pair| pair[1].to_owned()).collect();
    let packages = metadata["packages"].as_array().unwrap();
    if asked.is_empty() {
        let default = metadata["workspace_default_members"].as_array().unwrap();
        let is_default = |package: &&Value| default.contains(&package["id"]);
        asked = packages
            .iter()
            .filter(is_default)
            .map(|package| text(package["name"].as_str().unwrap().as_bytes()))
            .collect();
    }
    let dir = session.dir().join("target/release");
    std::fs::create_dir_all(&dir).unwrap();
    for name in asked {
        let package = packages.iter().find(|package| package["name"] == name.as_str());
        let package = package.unwrap_or_else(|| panic!("{}: there is no package {name}", block.place()));
        let targets = package["targets"].as_array().unwrap();
        for program in targets.iter().filter(|target| target["kind"][0] == "bin") {
            let program = program["name"].as_str().unwrap();
            std::os::unix::fs::symlink(built(program).unwrap(), dir.join(program)).unwrap();
        }
    }
}

/// Whether a test types what a document shows.
fn is_typed(document: &str) -> bool {
    TYPED.contains(&document)
        || TYPED_ELSEWHERE.iter().any(|(typed, test)| {
            *typed == document && std::fs::read_to_string(root().join(test)).unwrap().contains(document)
        })
}

#[test]
fn every_block_of_commands_is_typed_or_says_why_not() {
    let mut wrong = Vec::new();
    for document in documents() {
        for block in blocks(&document) {
            match block.needs() {
                Err(why) => wrong.push(format!("{}: {why}", block.place())),
                Ok(Some(Needs::Nothing | Needs::Everything)) if !is_typed(&document) => {
                    wrong.push(format!("{}: no test types it", block.place()));
                }
                Ok(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What stands in for programs where commands are looked at and not run: ours say whether they have such a command with such options, and
/// of what is given to others, files of the checkout have to be there.
const LOOKED_AT: &str = r#"
look() { "$@" --help > /dev/null; }
assisted() { look "$PROGRAMS/assisted" "$@"; }
assisted-host() { look "$PROGRAMS/assisted-host" "$@"; }
assisted-lab() { if [ "$1" = exec ]; then look "$PROGRAMS/assisted-lab" exec; else look "$PROGRAMS/assisted-lab" "$@"; fi; }
cargo() { if [ "$1" = xtask ]; then shift; look "$PROGRAMS/xtask" "$@"; else command cargo "$@" -h > /dev/null; fi; }
files() {
    for word in "$@"; do
        case "$word" in
            deploy/*|docs/*) [ -e "$ROOT/$word" ] || { echo "there is no $word"; return 1; } ;;
        esac
    done
}
make() { command make --dry-run --directory "$ROOT" "$@" > /dev/null; }
kubectl() { files "$@"; }
apt() { files "$@"; }
cat() { :; }
cd() { [ -d "$ROOT/$1" ]; }
clusterctl() { :; }
cosign() { :; }
curl() { :; }
journalctl() { :; }
jq() { :; }
npm() { :; }
npx() { :; }
systemctl() { :; }
tail() { :; }
"#;

/// A command that needs what only its reader has is one that exists: its options do, too, and its files.
#[test]
fn commands_that_nobody_types_here_exist() {
    let programs = built("assisted").unwrap().parent().unwrap().to_owned();
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for document in documents() {
        let is_looked_at =
            |block: &Block| matches!(block.needs().unwrap(), Some(Needs::Site | Needs::Reader));
        for block in blocks(&document).into_iter().filter(is_looked_at) {
            for command in block.commands() {
                let output = Command::new("bash")
                    .args(["-c", &format!("{LOOKED_AT}\n{command}")])
                    .current_dir(dir.path())
                    .env("ROOT", root())
                    .env("PROGRAMS", &programs)
                    .output()
                    .unwrap();
                if !output.status.success() {
                    let said = text(&[output.stdout, output.stderr].concat());
                    wrong.push(format!("{}: $ {command}\n{said}", block.place()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_readme_is_a_page_with_one_picture_and_two_commands() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    assert!(
        readme.lines().count() <= 60,
        "{} lines: what is longer is a page of docs/",
        readme.lines().count()
    );
    let pictures: Vec<_> = readme.split("![").skip(1).collect();
    assert_eq!(pictures.len(), 1, "{pictures:?}");
    let picture = pictures[0].split_once("](").unwrap().1.split_once(')').unwrap().0;
    assert!(root().join(picture).is_file(), "{picture}");
    let blocks = runnable("README.md", Needs::Everything);
    let commands: Vec<_> = blocks
        .iter()
        .flat_map(Block::commands)
        .map(|command| command.split('#').next().unwrap().trim())
        .collect();
    assert_eq!(commands, ["cargo xtask demo", "cargo xtask test"]);
}

#[test]
fn the_readme_leads_to_a_kubeconfig() {
    // What it builds is found by what it says, and by nothing else.
    let mut session = Session::open(Network::Own, &[("PATH", &std::env::var("PATH").unwrap())]);
    follow("README.md", &mut session);
    let kubeconfig = std::fs::read_to_string(session.dir().join("kubeconfig")).unwrap();
    assert!(kubeconfig.contains("clusters:"), "{kubeconfig}");
}

#[test]
fn any_machine_is_judged_without_a_service() {
    follow("docs/agent.md", &mut Session::open(Network::Own, &[]));
}

#[test]
fn the_installer_tells_its_options() {
    follow("docs/installer.md", &mut Session::open(Network::Own, &[]));
}

#[test]
fn an_image_is_downloaded_and_looked_into() {
    let dir = tempfile::tempdir().unwrap();
    let list = LiveImage::make(dir.path()).unwrap().list();
    let service = Service::start_with_env(&[
        ("OS_IMAGES", &list),
        ("SERVICE_BASE_URL", "http://127.0.0.1:8090"),
        ("AGENT_DELIVERY", "image"),
    ]);
    let create = ["infra-env", "create", "my-infra-env", "--pull-secret-file", "pull-secret.json"];
    let infra_env = service.json(&create);
    // The base image is read when it is first asked for.
    images::get(infra_env["download_url"].as_str().unwrap());
    let mut session = Session::open(Network::Shared, &[("ASSISTED_URL", &service.url)]);
    follow("docs/images.md", &mut session);
    assert!(session.dir().join("discovery.iso").is_file());
}

#[test]
fn static_networks_are_taken_as_they_are_shown() {
    let service = Service::start();
    let mut session = Session::open(Network::Shared, &[("ASSISTED_URL", &service.url)]);
    let example = "static-networks.yaml";
    std::fs::copy(root().join("docs/examples").join(example), session.dir().join(example)).unwrap();
    follow("docs/static-networking.md", &mut session);
    assert_eq!(service.json(&["infra-env", "list"])[0]["name"], "lab");
}

/// Puts the example of a cluster's manifests where the checkout has it.
fn copy_manifests(session: &Session) {
    let example = "docs/examples/cluster-manifests";
    std::fs::create_dir_all(session.dir().join(example)).unwrap();
    for file in std::fs::read_dir(root().join(example)).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), session.dir().join(example).join(file.file_name())).unwrap();
    }
}

#[test]
fn manifests_are_applied() {
    let service = Service::start();
    let mut session = Session::open(Network::Shared, &[("ASSISTED_URL", &service.url)]);
    copy_manifests(&session);
    follow("docs/manifests.md", &mut session);
    assert_eq!(service.json(&["cluster", "list"])[0]["name"], "rack");
    assert_eq!(service.json(&["infra-env", "list"])[0]["name"], "rack");
}

#[test]
fn the_first_hour_and_the_recipes_begin() {
    for (document, clusters) in [("docs/first-hour.md", 1), ("docs/networking.md", 4)] {
        let service = Service::start();
        let mut session = Session::open(Network::Shared, &[("ASSISTED_URL", &service.url)]);
        follow(document, &mut session);
        assert_eq!(service.json(&["cluster", "list"]).as_array().unwrap().len(), clusters, "{document}");
    }
}

#[test]
fn each_way_leads_to_a_kubeconfig() {
    let service = Service::simulating();
    let mut session = Session::open(Network::Shared, &[("ASSISTED_URL", &service.url)]);
    copy_manifests(&session);
    follow("docs/ways.md", &mut session);
    let clusters = service.json(&["cluster", "list"]);
    let status = |name: &str| {
        let mut named = clusters.as_array().unwrap().iter().filter(|cluster| cluster["name"] == name);
        named.next().map(|cluster| cluster["status"].as_str().unwrap().to_owned())
    };
    for way in ["site", "rest"] {
        assert_eq!(status(way).as_deref(), Some("installed"), "{way}: {clusters}\n{}", service.log());
        let kubeconfig = std::fs::read_to_string(session.dir().join(format!("{way}.kubeconfig"))).unwrap();
        assert!(kubeconfig.contains(&format!("https://api.{way}.example.com:6443")), "{kubeconfig}");
    }
    // That of the repository is there, and nobody has booted its hosts.
    assert!(status("rack").is_some_and(|status| status != "installed"), "{clusters}");
}

#[test]
fn image_mode_is_asked_for_and_followed() {
    let service = Service::start_with_env(&[("OCL_PREVIEW", "true")]);
    let (id, _) = service.cluster("lab");
    let mut session = Session::open(
        Network::Shared,
        &[("SERVICE", &service.url), ("ID", &id), ("ASSISTED_URL", &service.url)],
    );
    follow("docs/image-mode.md", &mut session);
    let overrides = service.json(&["cluster", "show", "lab"])["install_config_overrides"].to_string();
    assert!(overrides.contains("onClusterLayering"), "{overrides}");
    let url = format!("{}/api/assisted-install/v2/clusters/{id}/on-cluster-layering", service.url);
    let (head, body) = images::get(&url);
    assert!(head.starts_with("HTTP/1.1 200"), "{url}: {head}");
    let state: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(state["enabled"], true, "{state}");
    assert_eq!(state["settings"]["build_timeout_minutes"], 120, "{state}");
}

#[test]
fn operations_are_looked_at() {
    let service = Service::start();
    let mut session = Session::open(Network::Shared, &[("ASSISTED_URL", &service.url)]);
    follow("docs/operations.md", &mut session);
}

#[test]
fn work_is_looked_at() {
    let service = Service::start();
    let mut session = Session::open(Network::Shared, &[("ASSISTED_URL", &service.url)]);
    follow("docs/work.md", &mut session);
}

#[test]
fn a_backup_is_made_and_put_back() {
    let service = Service::start();
    service.cluster("kept");
    let data = service.dir.path().display().to_string();
    let mut session =
        Session::open(Network::Shared, &[("ASSISTED_URL", &service.url), ("ASSISTED_DATA_DIR", &data)]);
    follow("docs/backup.md", &mut session);
    assert!(session.dir().join("again.tar.gz").is_file());
}

#[test]
fn mirrors_are_planned_and_checked() {
    let site = mirror::Site::new();
    let environment = site.environment();
    let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut session = Session::open(Network::Shared, &environment);
    follow("docs/disconnected.md", &mut session);
    assert!(session.dir().join("plan.json").is_file());
}

#[test]
fn people_log_in() {
    let service = Service::start_with_env(&[("AUTH_TYPE", "users")]);
    let code = service.setup_code();
    let data = service.dir.path().display().to_string();
    let mut session = Session::open(
        Network::Shared,
        &[
            ("ASSISTED_URL", &service.url),
            ("ASSISTED_DATA_DIR", &data),
            ("CODE", &code),
            ("XDG_CONFIG_HOME", ""),
        ],
    );
    follow("docs/users.md", &mut session);
    // Nothing that opens anything stands in the log.
    let token = std::fs::read_to_string(session.dir().join("token.txt")).unwrap();
    let log = service.log();
    assert!(log.contains("the first administrator was made"), "{log}");
    for secret in [code.as_str(), token.trim(), "correct horse", "another good"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn files_are_looked_at_before_an_installation() {
    let releases = Releases::start();
    let service = Service::installing(&releases.conf);
    let (id, infra_env) = service.cluster("lab");
    let mut hosts = service.simulation(&["--speed", "600", "--until", "ready"]);
    let hosts = hosts.args(["--cluster", &id, "--infra-env", &infra_env]).output().unwrap();
    assert!(hosts.status.success(), "{}\n{}", text(&hosts.stderr), service.log());
    let cluster = service.json(&["cluster", "show", "lab"]);
    let version = cluster["openshift_version"].as_str().unwrap();
    releases.push(version, OPENSHIFT_INSTALL);
    let mut session = Session::open(Network::Shared, &[("ASSISTED_URL", &service.url)]);
    follow("docs/generation.md", &mut session);
    assert!(session.dir().join("review/bootstrap.ign").is_file());
}
