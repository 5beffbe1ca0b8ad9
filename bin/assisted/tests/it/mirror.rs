//! What an installation takes, and whether mirrors have it: a real registry in the place of the vendor's.

use std::path::PathBuf;
use std::process::{Command, Output};

use assisted_release::Mirrors;
use assisted_testkit::oci::{self, Image, Layer, ReleaseImage};
use assisted_testkit::{Access, DockerRegistry};
use axum::routing::get;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::service::{on_terminal, text};

const RELEASES: &str = "quay.io/openshift-release-dev/ocp-release";
const PARTS: &str = "quay.io/openshift-release-dev/ocp-v4.0-art-dev";
const CONTROLLERS: &str = "quay.io/edge-infrastructure";
const VERSION: &str = "4.20.1";

/// A site without a way out: a registry with copies, a web server with the operating system, and settings that name both.
pub struct Site {
    registry: DockerRegistry,
    pub dir: tempfile::TempDir,
    runtime: Runtime,
    /// Of the image that is must-gather.
    other: String,
    controller: String,
    release: String,
    files: String,
}

fn digest(pushed: &str) -> String {
    pushed.rsplit_once('@').unwrap().1.to_owned()
}

fn image(content: &str) -> Image {
    let layer = Layer::new().unwrap().file("etc/x", content.as_bytes()).unwrap().finish().unwrap();
    Image::new("amd64", vec![layer]).unwrap()
}

impl Site {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let registry = DockerRegistry::start(&dir.path().join("images"), &Access::default()).unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let push = |repository: &str, image: &Image| {
            digest(&runtime.block_on(oci::push(&registry, repository, None, image)).unwrap())
        };
        let (installer, other) = (push("ocp/art", &image("installer")), push("ocp/art", &image("other")));
        let part = |name: &str, digest: &str| (name.to_owned(), format!("{PARTS}@{digest}"));
        let release = ReleaseImage {
            version: VERSION.to_owned(),
            architecture: "amd64".to_owned(),
            components: vec![part("installer", &installer), part("must-gather", &other)],
            operator: Vec::new(),
        };
        let release = push("ocp/release", &release.build().unwrap());
        let controller = push("edge/assisted-installer-controller", &image("controller"));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let files = listener.local_addr().unwrap().to_string();
        let live = axum::Router::new().route("/live.iso", get(async || vec![0_u8; 5000]));
        runtime.spawn(async move { axum::serve(listener, live).await });
        let site = Self { registry, dir, runtime, other, controller, release, files };
        site.write_rules(&[(RELEASES, "ocp/release"), (PARTS, "ocp/art"), (CONTROLLERS, "edge")]);
        site
    }

    fn write_rules(&self, rules: &[(&str, &str)]) {
        let registry = self.registry.name();
        let mut text = format!("[[registry]]\nlocation = \"{registry}\"\ninsecure = true\n");
        for (source, copy) in rules {
            text.push_str(&format!(
                "[[registry]]\nlocation = \"{source}\"\nblocked = true\n[[registry.mirror]]\nlocation = \"{registry}/{copy}\"\ninsecure = true\n"
            ));
        }
        std::fs::write(self.conf(), text).unwrap();
    }

    fn conf(&self) -> PathBuf {
        self.dir.path().join("registries.conf")
    }

    /// The settings of the service.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let release = format!("{RELEASES}@{}", self.release);
        vec![
            ("REGISTRIES_CONF_FILE", self.conf().display().to_string()),
            ("RELEASE_IMAGES", json!([{"openshift_version": "4.20", "cpu_architecture": "x86_64", "version": VERSION, "url": release, "default": true}]).to_string()),
            ("OS_IMAGES", json!([{"openshift_version": "4.20", "cpu_architecture": "x86_64", "version": "420.1", "url": format!("http://{}/live.iso", self.files)}]).to_string()),
            ("MUST_GATHER_IMAGES", "{}".to_owned()),
            ("CONTROLLER_IMAGE", format!("{CONTROLLERS}/assisted-installer-controller@{}", self.controller)),
        ]
    }

    fn mirror(&self, args: &[&str], more: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
        command.arg("mirror").args(args).current_dir(self.dir.path()).envs(self.environment());
        command.envs(more.iter().copied()).output().unwrap()
    }

    fn plan(&self, args: &[&str]) -> Value {
        let output = self.mirror(&[&["plan", "-o", "json"], args].concat(), &[]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn report(&self, args: &[&str], more: &[(&str, &str)]) -> Value {
        let output = self.mirror(&[&["check", "-o", "json"], args].concat(), more);
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
        assert_eq!(output.status.code(), Some(i32::from(report["complete"] == false)), "{report}");
        report
    }

    /// Whether everything is there, and the rows of what is not: state and reason by name.
    fn check(&self, args: &[&str], more: &[(&str, &str)]) -> (bool, Vec<(String, String, String)>) {
        let report = self.report(args, more);
        let rows = ["images", "catalogues", "operators", "files"]
            .iter()
            .flat_map(|kind| report[kind].as_array().unwrap());
        let bad = rows.filter(|row| row["ok"] == false).map(|row| {
            let part = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            (part("name"), part("state"), part("why"))
        });
        (report["complete"] == true, bad.collect())
    }

    fn lose(&self, repository: &str, digest: &str) {
        let hex = digest.strip_prefix("sha256:").unwrap();
        let manifests =
            format!("images/docker/registry/v2/repositories/{repository}/_manifests/revisions/sha256/{hex}");
        std::fs::remove_dir_all(self.dir.path().join(manifests)).unwrap();
    }
}

fn names(plan: &Value) -> Vec<&str> {
    plan["images"].as_array().unwrap().iter().map(|image| image["name"].as_str().unwrap()).collect()
}

#[test]
fn what_is_planned_is_found_in_the_mirrors() {
    let site = Site::new();
    let plan = site.plan(&[]);
    assert_eq!(names(&plan), ["release", "installer", "must-gather", "assisted-installer-controller"]);
    assert_eq!(plan["release"], format!("{RELEASES}@{}", site.release));
    assert_eq!(plan["images"][2]["image"], format!("{PARTS}@{}", site.other));
    assert_eq!(plan["files"][0]["version"], "420.1");
    assert_eq!(site.check(&[], &[]), (true, vec![]));
    assert_eq!(site.check(&["--layers"], &[]), (true, vec![]));
    let table = site.mirror(&["check", "--all"], &[]);
    let told = text(&table.stdout);
    assert!(told.contains("4 of 4 images are there") && told.contains("1 of 1 files are there"), "{told}");
    assert!(
        told.contains("4.9 KiB") && told.contains(&format!("{}/ocp/art@", site.registry.name())),
        "{told}"
    );

    // With agents in containers there are two more, and nobody has them.
    let (complete, bad) = site.check(&[], &[("AGENT_DELIVERY", "image")]);
    let bad: Vec<_> = bad.iter().map(|(name, state, _)| (name.as_str(), state.as_str())).collect();
    assert_eq!(
        (complete, bad),
        (false, vec![("assisted-installer-agent", "no-mirror"), ("assisted-installer", "no-mirror")])
    );
}

#[test]
fn a_check_has_a_bar_on_a_terminal_and_nowhere_else() {
    let site = Site::new();
    let mut terminal = on_terminal(&["mirror", "check"]);
    let output = terminal.current_dir(site.dir.path()).envs(site.environment()).output().unwrap();
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown:?}");
    // Of four images and a file.
    assert!(shown.contains("reads the release") && shown.contains("░ 0 of 5 "), "{shown:?}");
    // It is gone before the report begins.
    let first = shown.rsplit('\r').find(|line| line.contains(&format!("OpenShift {VERSION}, ")));
    assert!(first.is_some_and(|line| !line.contains('░')), "{shown:?}");

    let quiet = site.mirror(&["check"], &[]);
    let told = text(&quiet.stderr);
    assert!(
        quiet.status.success() && !told.contains("reads the release") && !told.contains('░'),
        "{quiet:?}"
    );
}

#[test]
fn what_mirrors_lack_is_told_with_its_remedy() {
    let site = Site::new();
    let plan = site.dir.path().join("plan.json");
    std::fs::write(&plan, site.plan(&[]).to_string()).unwrap();
    let plan = plan.to_str().unwrap();
    site.lose("ocp/art", &site.other);
    let one = |args: &[&str], more: &[(&str, &str)]| {
        let (complete, mut bad) = site.check(args, more);
        assert!(!complete && bad.len() == 1, "{bad:?}");
        bad.remove(0)
    };
    let (name, state, why) = one(&[], &[]);
    assert_eq!((name.as_str(), state.as_str()), ("must-gather", "missing"));
    assert!(why.contains(&site.other) && why.contains("has no such image"), "{why}");
    // What was planned elsewhere is missed as well; nothing has to be read for it.
    site.lose("ocp/release", &site.release);
    let (complete, bad) = site.check(&["--plan", plan], &[]);
    let missing: Vec<_> = bad.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!((complete, missing), (false, vec!["release", "must-gather"]));
    let refused = site.mirror(&["check"], &[]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("no such image"), "{refused:?}");

    // Clusters have mirrors for digests alone.
    let site = Site::new();
    let tagged = format!("{CONTROLLERS}/assisted-installer-controller:latest");
    let by_tag = site.check(&[], &[("CONTROLLER_IMAGE", &tagged)]);
    assert!(
        matches!(by_tag.1.as_slice(), [(_, state, why)] if state == "no-mirror" && why.contains("by digest")),
        "{by_tag:?}"
    );
    // Hosts don't look beside the release.
    site.runtime.block_on(oci::push(&site.registry, "ocp/release", None, &image("installer"))).unwrap();
    site.write_rules(&[(RELEASES, "ocp/release"), (CONTROLLERS, "edge")]);
    let (complete, bad) = site.check(&[], &[]);
    let bad: Vec<_> = bad.iter().map(|(name, state, _)| (name.as_str(), state.as_str())).collect();
    assert_eq!((complete, bad), (false, vec![("installer", "beside-release"), ("must-gather", "no-mirror")]));
    // Time may be over before anything is asked; the vendor's server is not asked for files.
    let vendor = json!([{"openshift_version": "4.20", "cpu_architecture": "x86_64", "version": "1", "url": "https://mirror.openshift.com/x.iso"}]);
    let (_, bad) = site.check(&["--time-limit", "0"], &[("OS_IMAGES", &vendor.to_string())]);
    assert_eq!(bad.last().unwrap().1, "no-mirror");
    assert_eq!(bad[0].1, "not-asked");
}

#[test]
fn images_of_operators_are_looked_for_as_their_catalogue_tells() {
    let site = Site::new();
    let vendor = "registry.redhat.io";
    site.write_rules(&[
        (RELEASES, "ocp/release"),
        (PARTS, "ocp/art"),
        (CONTROLLERS, "edge"),
        (&format!("{vendor}/redhat"), "redhat"),
        (&format!("{vendor}/lvms4"), "lvms4"),
    ]);
    let lvm = ["--operator", "lvm"];
    let package = site.plan(&lvm)["catalogues"][0]["packages"][0].clone();
    // Where no channel is subscribed to, it is the package's own default.
    let (name, channel) = (package["name"].as_str().unwrap(), package["channel"].as_str().unwrap_or("other"));

    // Without the catalogue nobody knows what the operator is made of, and that is said.
    let report = site.report(&lvm, &[]);
    assert_eq!((&report["complete"], &report["operators"]), (&json!(false), &json!([])));
    let told = report["not_covered"][0].as_str().unwrap();
    assert!(told.contains(name) && told.contains("the catalogue was not found"), "{report}");

    let push = |repository: &str, tag: Option<&str>, image: &Image| {
        digest(&site.runtime.block_on(oci::push(&site.registry, repository, tag, image)).unwrap())
    };
    let (bundle, operator) =
        (push("lvms4/bundle", None, &image("bundle")), push("lvms4/operator", None, &image("operator")));
    let of = |name: &str, digest: &str| format!("{vendor}/lvms4/{name}@{digest}");
    let description = [
        json!({"schema": "olm.package", "name": name, "defaultChannel": "other"}),
        json!({"schema": "olm.channel", "package": name, "name": channel, "entries": [{"name": "lvms.v2", "replaces": "lvms.v1"}, {"name": "lvms.v1"}]}),
        json!({"schema": "olm.bundle", "package": name, "name": "lvms.v1", "image": of("bundle", &site.other)}),
        json!({"schema": "olm.bundle", "package": name, "name": "lvms.v2", "image": of("bundle", &bundle),
            "relatedImages": [{"name": "", "image": of("bundle", &bundle)}, {"name": "operator", "image": of("operator", &operator)}]}),
    ];
    let description = description.map(|document| document.to_string()).join("\n");
    let layer =
        Layer::new().unwrap().file(&format!("configs/{name}/catalog.json"), description.as_bytes()).unwrap();
    let catalogue = Image::new("amd64", vec![layer.finish().unwrap()]).unwrap();
    push("redhat/redhat-operator-index", Some("v4.20"), &catalogue);

    let report = site.report(&lvm, &[]);
    assert_eq!((&report["complete"], &report["not_covered"]), (&json!(true), &json!([])), "{report}");
    let rows = report["operators"].as_array().unwrap();
    let found: Vec<_> =
        rows.iter().map(|row| (row["name"].as_str().unwrap(), row["what"].as_str().unwrap())).collect();
    let expected = [of("bundle", &bundle), of("operator", &operator)];
    assert_eq!(found, [("lvms.v2", expected[0].as_str()), ("lvms.v2", expected[1].as_str())]);

    // Of an operator that the catalogue lacks nothing can be told; that is said by its name.
    let report = site.report(&["--operator", "lvm", "--operator", "cnv"], &[]);
    let told = report["not_covered"][0].as_str().unwrap();
    assert!(told.contains("kubevirt-hyperconverged") && told.contains("it has no configs/"), "{report}");
    assert_eq!((&report["complete"], rows.len()), (&json!(true), 2));

    site.lose("lvms4/operator", &operator);
    let (complete, bad) = site.check(&lvm, &[]);
    let bad: Vec<_> = bad.iter().map(|(name, state, _)| (name.as_str(), state.as_str())).collect();
    assert_eq!((complete, bad), (false, vec![("lvms.v2", "missing")]));
    let table = text(&site.mirror(&["check", "--operator", "lvm", "--operator", "cnv"], &[]).stdout);
    assert!(
        table.contains("1 of 2 images of operators are there")
            && table.contains("not looked for: images of kubevirt"),
        "{table}"
    );
}

#[test]
fn other_tools_are_told() {
    let site = Site::new();
    let form = |form: &str, more: &[&str]| {
        let output = site.mirror(&[&["plan", "--form", form], more].concat(), &[]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let set = form("image-set", &["--operator", "odf"]);
    for part in [
        "apiVersion: mirror.openshift.io/v2alpha1",
        "name: stable-4.20",
        "maxVersion: 4.20.1",
        "- amd64",
        "catalog: registry.redhat.io/redhat/redhat-operator-index:v4.20",
        "name: odf-operator",
        "name: local-storage-operator",
        &format!("- name: {CONTROLLERS}/assisted-installer-controller@"),
    ] {
        assert!(set.contains(part), "{part}: {set}");
    }
    // What comes with the release is not named again.
    assert!(!set.contains(PARTS), "{set}");

    let expected: Vec<_> =
        [("assisted-installer-controller", CONTROLLERS), ("ocp-release", ""), ("ocp-v4.0-art-dev", "")]
            .iter()
            .map(|(name, place)| {
                let place = if place.is_empty() { "quay.io/openshift-release-dev" } else { place };
                let path = place.split_once('/').unwrap().1;
                (format!("{place}/{name}"), vec![format!("mirror.lab:5000/copies/{path}/{name}")])
            })
            .collect();
    let to = ["--to", "mirror.lab:5000/copies/"];
    let sets = Mirrors::from_image_sets(&form("mirror-set", &to)).unwrap();
    assert_eq!(sets.by_digest(), expected);
    let conf = Mirrors::from_registries_conf(&form("registries-conf", &to)).unwrap();
    assert_eq!(conf, sets);

    for (args, why) in [
        (vec!["plan", "--form", "mirror-set"], "--to REGISTRY"),
        (vec!["plan", "--form", "mirror-set", "--to", "http://x"], "--to: "),
        (vec!["plan", "--operator", "nothing"], "assisted operator list"),
        (vec!["plan", "--openshift-version", "4.19"], "--release-image"),
        (vec!["plan", "--release-image", "nowhere"], "names no registry"),
        (vec!["plan", "--architecture", "s390x"], "RELEASE_IMAGES has no release for s390x"),
    ] {
        let refused = site.mirror(&args, &[]);
        assert!(
            !refused.status.success() && text(&refused.stderr).contains(why),
            "{args:?}: {}",
            text(&refused.stderr)
        );
    }
}

/// Without any network but loopback.
fn alone() -> Command {
    let mut command = Command::new("bwrap");
    command.args([
        "--dev-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--unshare-net",
        "--unshare-pid",
        "--die-with-parent",
    ]);
    command
}

#[test]
fn a_cluster_is_installed_where_there_is_no_network() {
    let links = alone()
        .args(["cat", "/proc/net/dev"])
        .output()
        .expect("bubblewrap is missing: run `cargo xtask setup`");
    let links: Vec<_> = text(&links.stdout)
        .lines()
        .filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()))
        .collect();
    assert_eq!(links, ["lo"]);
    // The same from a release in a registry to installed clusters.
    let test = "openshift::simulated_hosts_are_installed_from_a_release";
    let own = std::env::current_exe().unwrap();
    let ran = alone().arg(own).args(["--exact", test, "--nocapture"]).output().unwrap();
    assert!(ran.status.success(), "{}\n{}", text(&ran.stdout), text(&ran.stderr));
    assert!(text(&ran.stdout).contains("1 passed"), "{}", text(&ran.stdout));
}
