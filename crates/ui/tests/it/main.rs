//! The web UI in headless Chromium, against a real service with simulated hosts. The scenarios are those of `ui/tests`; each starts
//! what it needs by itself.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests are tests too")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::{Mutex, PoisonError};

use assisted_testkit::{IdentityProvider, LiveImage, ManagementController, NameServer, built, tied};
use http::{HeaderMap, Method};
use serde_json::json;

/// Where Node may be.
const NODE: [&str; 2] = ["/usr/bin/node", "/usr/local/bin/node"];

/// A browser and a service fill two processors: more of them at once only wait for each other.
static TURN: Mutex<()> = Mutex::new(());

/// Runs a scenario to its end, when it is its turn.
fn scenario(name: &str, env: &[(&str, &str)]) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(
        assisted_ui::is_embedded(),
        "the web UI is not embedded: run `cargo xtask ui`, and build again; `cargo xtask test -p assisted-ui` does both"
    );
    let node = NODE.into_iter().map(Path::new).find(|path| path.is_file());
    let node = node.expect("the tests of the web UI need Node: apt-get install nodejs npm");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui");
    let mut command = tied(node);
    command
        .arg(PathBuf::from("tests").join(format!("{name}.mjs")))
        .current_dir(sources)
        .env("ASSISTED", built("assisted").unwrap())
        .env("ASSISTED_LAB", built("assisted-lab").unwrap())
        .envs(env.iter().copied())
        .stdin(Stdio::null());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // What a scenario measures stands in the log of a run that goes well, too: the test runner keeps what is printed to itself.
    std::io::stdout().write_all(&stdout).unwrap();
    assert!(status.success(), "{name}: {status}\n{}{}", text(&stdout), text(&stderr));
}

#[test]
fn an_installation_is_followed_live() {
    let server = NameServer::start("example.com").unwrap();
    let (key, secret) = NameServer::KEY;
    scenario(
        "live",
        &[
            ("BASE_DNS_DOMAINS", "example.com:example.com/rfc2136"),
            ("DNS_UPDATE_SERVER", &server.address()),
            ("DNS_UPDATE_KEY", key),
            ("DNS_UPDATE_KEY_SECRET", secret),
        ],
    );
}

#[test]
fn people_sign_in_and_out() {
    scenario("sign-in", &[]);
}

#[test]
fn people_sign_in_by_a_provider() {
    let provider = IdentityProvider::start("assisted", "secret");
    provider.set_person(json!({"sub": "1", "preferred_username": "ann", "groups": ["ops"]}));
    scenario("provider", &[("ISSUER", &provider.issuer())]);
}

/// One that is certified, and none of this project's: `oidc-provider`, which npm installs beside the UI's own packages.
#[test]
fn people_sign_in_by_a_provider_of_others() {
    scenario("foreign-provider", &[]);
}

#[test]
fn images_are_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let base = LiveImage::make(dir.path()).unwrap();
    scenario("images", &[("BASE_IMAGE", base.path.to_str().unwrap())]);
}

#[test]
fn machines_are_switched_by_their_controllers() {
    let dir = tempfile::tempdir().unwrap();
    let uuid = "7e5f7c5e-0000-4000-8000-000000000003";
    let controller = ManagementController::start(uuid, "52:54:00:7e:10:04", None, dir.path()).unwrap();
    let (user, password) = (ManagementController::USER, ManagementController::PASSWORD);
    let base = LiveImage::make(dir.path()).unwrap();
    scenario(
        "machines",
        &[
            ("BASE_IMAGE", base.path.to_str().unwrap()),
            ("BMC_SYSTEM", &controller.system),
            ("BMC_USER", user),
            ("BMC_PASSWORD", password),
        ],
    );
}

#[test]
fn faults_are_told_and_passed_over() {
    scenario("faults", &[]);
}

#[test]
fn pages_are_for_everybody() {
    scenario("access", &[]);
}

/// The script has more than the scenarios open: nothing in it leads to a hosted service.
#[test]
fn the_script_leads_to_no_hosted_service() {
    let get = |path: &str| {
        let answer = assisted_ui::answer(&Method::GET, path, &HeaderMap::new()).unwrap();
        String::from_utf8(answer.into_body().to_vec()).unwrap()
    };
    let page = get("/");
    let script = page.split('"').find(|part| part.ends_with(".js")).expect("the web UI is not embedded");
    let script = get(script);
    for name in
        ["redhat.com", "redhat.io", "openshift.com", "intersight.com", "quay.io/", "Assisted Installer"]
    {
        assert!(!script.contains(name), "{name}");
    }
    assert!(script.contains("journalctl -u agent.service"));
}

/// From an empty list by the wizard to an installed cluster, and a host more; another one is aborted, reset and deleted.
#[test]
fn everything_from_an_empty_list_to_a_second_day() {
    scenario("walk", &[]);
}

/// What the wizard asks only of those who want it: static networks, an operator, and a manifest; the service has all of it then.
#[test]
fn everything_that_the_wizard_lets_one_choose_is_what_the_service_has() {
    scenario("choices", &[]);
}

/// The documentation shows what the scenarios see: each picture that one of them takes is kept and shown, and no other.
#[test]
fn pictures_of_the_documentation_are_taken_by_these_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = |folder: &str, end: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|found| found == end)).collect()
    };
    let named = |folder: &str, end: &str, before: &str, after: &str| -> BTreeSet<String> {
        let texts = files(folder, end).into_iter().map(|path| fs::read_to_string(path).unwrap());
        let names = texts.flat_map(|text| {
            let rests = text.split(before).skip(1);
            rests.map(|rest| rest.split(after).next().unwrap().to_owned()).collect::<Vec<_>>()
        });
        names.collect()
    };
    let taken = named("ui/tests", "mjs", "await picture('", "'");
    let kept = files("docs/ui", "png").into_iter();
    let kept = kept.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    assert!(taken.len() > 10, "{taken:?}");
    assert_eq!(kept.collect::<BTreeSet<_>>(), taken);
    assert_eq!(named("docs", "md", "](ui/", ".png"), taken);
}
