//! One name for images of several architectures: each machine gets its own.

use std::fs;
use std::process::Command;
use std::time::Duration;

use assisted_package::digest::sha256;
use assisted_package::image::Kind;
use assisted_package::publish::{Access, publish};
use assisted_package::release::lists;
use assisted_testkit::{Access as Open, DockerRegistry, PodmanHost};
use serde_json::{Value, json};

use crate::world::{OTHER, crates, inputs, programs_of_two, run};

/// How long a machine may take for a script.
const LIMIT: Duration = Duration::from_secs(240);

fn skopeo(args: &[&str]) -> Command {
    let mut command = Command::new("skopeo");
    command.args(args);
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn each_machine_gets_its_own_image_from_one_name() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("registry");
    fs::create_dir(&folder).unwrap();
    let registry = DockerRegistry::start(&folder, &Open::default()).unwrap();
    let mut inputs = inputs(&registry.name(), dir.path());
    inputs.programs = programs_of_two(dir.path());
    let index = inputs.build(Kind::Agent).unwrap();
    let name = inputs.name(Kind::Agent);
    let listed = lists(&inputs, Kind::Agent, &crates()).unwrap();
    assert_eq!(listed.len(), 2);
    let pushed = publish(&index, &name, &listed, None, &Access::default()).await.unwrap();
    assert_eq!(pushed.name, format!("{}/assisted/agent@{}", registry.name(), index.manifest.digest));

    // skopeo finds the list under the tag and under its digest, and each image by the digest that the list tells.
    let repository = format!("docker://{}/assisted/agent", registry.name());
    let raw = |what: &str| {
        run(&mut skopeo(&["inspect", "--tls-verify=false", "--raw", &format!("{repository}{what}")]))
    };
    let list = raw(":1");
    assert_eq!(list, raw(&format!("@{}", index.manifest.digest)));
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["mediaType"], "application/vnd.oci.image.index.v1+json");
    let images = list["manifests"].as_array().unwrap();
    let platforms: Vec<_> = images.iter().map(|image| &image["platform"]).collect();
    let platform = |architecture: &str| json!({"architecture": architecture, "os": "linux"});
    assert_eq!(platforms, [&platform("amd64"), &platform("arm64")]);
    for image in images {
        let digest = image["digest"].as_str().unwrap();
        assert_eq!(digest, format!("sha256:{}", sha256(raw(&format!("@{digest}")).as_bytes())));
    }
    for architecture in ["amd64", "arm64"] {
        let told = run(&mut skopeo(&[
            "inspect",
            "--tls-verify=false",
            "--override-arch",
            architecture,
            &format!("{repository}:1"),
        ]));
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["Architecture"], architecture);
    }
    // All of it can be copied to another place, and is the same there.
    let copy = dir.path().join("copy");
    let to = format!("oci:{}:1", copy.display());
    run(&mut skopeo(&[
        "--insecure-policy",
        "copy",
        "-q",
        "--all",
        "--src-tls-verify=false",
        &format!("{repository}:1"),
        &to,
    ]));
    let copied: Value = serde_json::from_slice(&fs::read(copy.join("index.json")).unwrap()).unwrap();
    assert_eq!(copied["manifests"][0]["digest"], index.manifest.digest);

    // podman runs what is for this machine, and pulls what is for another when that is asked for. What a program tells is read from its log:
    // podman may miss the output of one that ends at once.
    let host = PodmanHost::new(&registry.name()).unwrap();
    let (done, told) = host
        .run(
            &format!(
                "set -ex\npodman run --cgroups=disabled --net=host --log-driver=k8s-file --name one {name} inventory --help > /dev/null\n\
                 podman logs one | grep -i inventory\npodman rm one\n\
                 podman image inspect --format 'it is for {{{{.Architecture}}}}' {name}\npodman rmi {name}\n\
                 podman pull --arch arm64 {name}\npodman image inspect --format 'it is for {{{{.Architecture}}}}' {name}\n\
                 podman pull --arch s390x {name} && exit 1; podman manifest inspect {name} | grep -c architecture\n"
            ),
            LIMIT,
        )
        .unwrap();
    assert!(done, "{told}");
    for expected in ["\nit is for amd64\n", "\nit is for arm64\n", "\n2\n"] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    assert!(told.contains("s390x"), "{OTHER} is the only other one: {told}");
}
