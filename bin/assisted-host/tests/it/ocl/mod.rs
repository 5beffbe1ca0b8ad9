//! The builder of nodes' images, with real podman, registries and Ignition (ocl-day1 §B5).

mod machine;

use std::process::Command;

use assisted_testkit::{Access, Auth, DockerRegistry};
use machine::Host;

const GOOD: &str = "FROM configs AS final\nRUN echo 4711 > /usr/share/ocl-nonce\n";

/// Where a build is cut off, in its order: each is the first moment at which the state is on disk.
const STATES: [&str; 10] = [
    "pending",
    "waiting-for-render",
    "rendered",
    "preflight",
    "preparing-scratch",
    "starting-registry",
    "pulling-base",
    "building",
    "pushing",
    "verifying",
];

/// Lets a builder that is started so die when a state is on disk.
fn dying_at(state: &str, run: &str) -> String {
    format!(
        "fails env ASSISTED_DIE_AFTER='1 build {state}' $OCL {run} 2> /shared/err\ngrep -q 'died after: build {state}' /shared/err\n"
    )
}

/// Looks for passwords in all that the registry whose images are below a folder has: in layers, too.
fn without_secrets(images: &str) -> String {
    format!(
        "for blob in {images}/docker/registry/v2/blobs/sha256/*/*/data; do\n  gzip -cdf $blob > /tmp/blob\n  \
         fails grep -aqF -e hunter2 -e b2NsOmh1bnRlcjI= /tmp/blob\n  if grep -aqF ustar /tmp/blob; then layers=unpacked; fi\ndone\n\
         test \"$layers\" = unpacked\nrm /tmp/blob\n"
    )
}

/// Killed after each durable step, it goes on, and the image that all nodes can pull is the one that was asked for. No password is in any layer.
#[test]
fn a_build_that_is_killed_in_each_state_goes_on() {
    let host = Host::new();
    host.make_release();
    host.write_input(GOOD);
    let mut script: String = STATES.iter().map(|state| dying_at(state, "run")).collect();
    let port = host.port();
    let without_secrets = without_secrets("/var/ocl-scratch/registry");
    script.push_str(&format!(
        "fails env ASSISTED_DIE_AFTER='1 build rerendering' $OCL run 2> /dev/null\n$OCL run\n$OCL run\n$OCL status > /shared/status\n\
         image=localhost:{port}/ocl/os-image-master@$(sed -n 's/.*\"digest\": \"\\(.*\\)\".*/\\1/p' /shared/status)\n\
         podman pull --quiet --authfile /root/.docker/config.json $image\n\
         curl -s -o /dev/null -w '%{{http_code}}' --cacert /etc/containers/certs.d/localhost:{port}/ca.crt https://localhost:{port}/v2/ > /shared/refused\n\
         podman run --rm --net=host --entrypoint /bin/cat $image /usr/share/ocl-nonce /etc/baked\n\
         fails podman run --rm --net=host --entrypoint /bin/cat $image /var/lib/kubelet/config.json\n\
         podman inspect --format '{{{{json .Labels}}}}' $image > /shared/labels\n\
         digest=${{image##*:}}\nset -- /var/ocl-scratch/registry/docker/registry/v2/blobs/sha256/*/$digest/data\n\
         sha256sum $1 | cut -d ' ' -f 1 > /shared/sum\necho $digest >> /shared/sum\n\
         {without_secrets}\
         $OCL stop\nfails grep ocl-scratch /proc/mounts\nfails podman container exists ocl-registry\n"
    ));
    let told = host.run(&script);
    assert!(told.contains("4711\nyes"), "{told}");
    assert_eq!(host.read("shared/refused"), "401", "without the password nothing is read");
    let sums = host.read("shared/sum");
    let sums: Vec<_> = sums.lines().collect();
    assert_eq!(sums[0], sums[1], "the digest is that of the registry's own bytes");
    let status = host.status();
    let build = &status["builds"][0];
    assert_eq!(
        (build["state"].as_str(), build["percent"].as_u64()),
        (Some("Ready"), Some(100)),
        "{status:#}"
    );
    let image = build["image"].as_str().unwrap();
    assert_eq!(image, format!("api-int.c.d.example.com:{port}/ocl/os-image-master@sha256:{}", sums[1]));
    assert_eq!(status["seedable"], true);
    for folder in ["mcc/bootstrap", "openshift/manifests"] {
        assert!(host.read(&format!("{folder}/09-ocl-osimageurl-master.yaml")).contains(image));
        assert!(host.read(&format!("{folder}/ocl-machineosconfig-master.yaml")).contains("pre-built-image"));
    }
    let labels: serde_json::Value = serde_json::from_str(&host.read("shared/labels")).unwrap();
    assert_eq!(labels["machineconfig"], build["rendered_machine_config"]);
    assert!(!host.path("openshift/ocl/failed").exists());
    let events = host.read("openshift/ocl/state/events.jsonl");
    assert!(events.lines().filter(|line| line.contains("\"building\"")).count() == 1, "{events}");
}

/// Killed in the middle of a step, whose programs go on without it for a while, it builds once more.
#[test]
fn a_builder_that_is_killed_in_a_step_goes_on() {
    let host = Host::new();
    host.make_release();
    host.write_input("FROM configs AS final\nRUN echo 4711 > /usr/share/ocl-nonce && sleep 10\n");
    host.run(
        "$OCL run 2> /shared/err & builder=$!\n\
         for second in $(seq 300); do if grep -qs 'sleep 10' /opt/openshift/ocl/state/status.json; then break; fi; sleep 1; done\n\
         grep -q 'sleep 10' /opt/openshift/ocl/state/status.json\nkill -9 $builder\nfails wait $builder\n$OCL run 2> /shared/err\n",
    );
    let status = host.status();
    assert_eq!(status["builds"][0]["state"], "Ready", "{status:#}");
}

/// The power fails in mid-build: what was in memory is gone, and the build begins anew where that is needed.
#[test]
fn a_build_goes_on_after_a_power_cut() {
    let host = Host::new();
    host.make_release();
    host.write_input(GOOD);
    for state in ["building", "verifying"] {
        host.run(&dying_at(state, "run"));
    }
    host.run("$OCL run\n");
    assert_eq!(host.status()["builds"][0]["state"], "Ready");
}

/// The same in each state, one after the other: what of it only memory held is made anew, as often as the power fails.
#[test]
fn everything_a_build_goes_on_after_a_power_cut_in_any_state() {
    let host = Host::new();
    host.make_release();
    host.write_input(GOOD);
    for state in STATES {
        host.run(&dying_at(state, "run"));
    }
    host.run("fails env ASSISTED_DIE_AFTER='1 build rerendering' $OCL run 2> /dev/null\n");
    host.run("$OCL run 2> /shared/err\n");
    assert_eq!(host.status()["builds"][0]["state"], "Ready");
}

/// A control plane node has its registry by its own configuration: what is built there is added to it, and nothing else of the build stays.
/// A builder that is killed in any state goes on. No secret of the rendered configuration is in any layer.
#[test]
fn a_control_plane_node_builds_for_workers() {
    let host = Host::new();
    host.make_release();
    host.write_node_input(GOOD);
    let port = host.port();
    let dying: String = STATES.iter().chain(&["rerendering"]).map(|state| dying_at(state, "$RUN")).collect();
    let without_secrets = without_secrets("/var/lib/ocl-registry");
    let script = format!(
        "mkdir -p /etc/ocl-registry /var/lib/ocl-registry /var/lib/kubelet\ncp /opt/openshift/ocl/registry/* /etc/ocl-registry/\n\
         rm -rf /opt/openshift/ocl\nmv /root/.docker/config.json /var/lib/kubelet/\n\
         podman run --detach --name ocl-registry --net=host --security-opt=label=disable --volume /var/lib/ocl-registry:/var/lib/registry \
         --volume /etc/ocl-registry:/etc/registry:ro --entrypoint /usr/bin/distribution $REGISTRY/lab/registry:1 serve /etc/registry/config-ro.yaml\n\
         RUN='run --location control-plane --given /shared/ocl'\n\
         {dying}\
         $OCL $RUN 2> /shared/err\n$OCL $RUN 2> /shared/err\n$OCL status > /shared/status\n\
         digest=$(sed -n 's/.*\"digest\": \"\\(.*\\)\".*/\\1/p' /shared/status)\n\
         podman run --rm --net=host --authfile /var/lib/kubelet/config.json --entrypoint /bin/cat \
         localhost:{port}/ocl/os-image-worker@$digest /usr/share/ocl-nonce /etc/baked\n\
         podman container exists ocl-registry\nfails podman container exists ocl-build-rw\nfails grep ocl-scratch /proc/mounts\n\
         fails test -e /var/lib/ocl-scratch\nfails test -e /opt/openshift/ocl/secrets\nfails test -e /opt/openshift/ocl/pass1\n\
         test -s /var/log/ocl/Containerfile.worker\n\
         {without_secrets}\
         $OCL replicate --given /shared/ocl --image api-int.c.d.example.com:{port}/ocl/os-image-worker@$digest 2> /shared/err\n\
         grep -q \"\\\"ocl/os-image-worker\\\":\\\"$digest\\\"\" /etc/ocl-registry/wanted.json\n"
    );
    let told = host.run(&script);
    assert!(told.contains("4711\nyes"), "{told}");
    let status: serde_json::Value = serde_json::from_str(&host.read("shared/status")).unwrap();
    let build = &status["builds"][0];
    assert_eq!(
        (build["pool"].as_str(), build["state"].as_str()),
        (Some("worker"), Some("Ready")),
        "{status:#}"
    );
    assert_eq!(build["rendered_machine_config"], "rendered-worker-1");
    let image = build["image"].as_str().unwrap();
    assert!(
        image.starts_with(&format!("api-int.c.d.example.com:{port}/ocl/os-image-worker@sha256:")),
        "{image}"
    );
}

/// A registry of the user's is asked before the build whether it takes an upload with the secret of the MachineOSConfig, whatever else the host
/// may open it with. The image is pushed there, and named by the digest of that registry's own bytes; the host has no registry itself.
#[test]
fn an_image_goes_to_an_external_registry_that_takes_it() {
    let host = Host::new();
    host.make_release();
    let images = host.path("external");
    std::fs::create_dir(&images).unwrap();
    let external =
        DockerRegistry::start(&images, &Access { auth: Auth::Basic, ..Access::default() }).unwrap();
    let registry = external.name();
    // `reader:guessed`, and then the password that it has.
    host.write_external_input(GOOD, &registry, "cmVhZGVyOmd1ZXNzZWQ=");
    let refused = || {
        let error = &host.status()["builds"][0]["error"];
        assert_eq!(error["code"], "preflight", "{error}");
        let why = format!("an image can't be pushed to {registry}/acme/os-master");
        assert!(error["reason"].as_str().unwrap().contains(&why), "{error}");
    };
    // A builder that is killed when its failure is on disk leaves the rest of its end to the next.
    host.run(&format!(
        "{}fails test -e /opt/openshift/ocl/failed\nfails $OCL run 2> /shared/err\ntest -s /opt/openshift/ocl/failed\n\
         fails grep ocl-scratch /proc/mounts\n",
        dying_at("failed", "run")
    ));
    refused();

    host.reset();
    let own = host.read("docker/config.json");
    let opens = serde_json::json!({"auths": {&registry: {"auth": "cmVhZGVyOmh1bnRlcjI="}}}).to_string();
    host.write("docker/config.json", &opens);
    host.write("openshift/ocl/secrets/push.json", &own);
    host.run("fails $OCL run 2> /shared/err\n");
    refused();
    host.write("docker/config.json", &own);
    let repositories = images.join("docker/registry/v2/repositories");
    assert!(!repositories.join("acme/os-master/_manifests").exists(), "nothing was pushed");

    host.reset();
    host.write_external_input(GOOD, &registry, "cmVhZGVyOmh1bnRlcjI=");
    let told = host.run(&format!(
        "$OCL run 2> /shared/err\nfails podman container exists ocl-registry\n$OCL status > /shared/status\n\
         image={registry}/acme/os-master@$(sed -n 's/.*\"digest\": \"\\(.*\\)\".*/\\1/p' /shared/status)\n\
         fails podman pull --quiet --authfile /root/.docker/config.json $image\n\
         podman pull --quiet --authfile /opt/openshift/ocl/secrets/push.json $image\n\
         podman run --rm --net=host --entrypoint /bin/cat $image /usr/share/ocl-nonce /etc/baked\n\
         $OCL stop\nfails grep ocl-scratch /proc/mounts\n"
    ));
    assert!(told.contains("4711\nyes"), "{told}");
    let status = host.status();
    let build = &status["builds"][0];
    assert_eq!(build["state"], "Ready", "{status:#}");
    let image = build["image"].as_str().unwrap();
    let digest = image.strip_prefix(&format!("{registry}/acme/os-master@sha256:")).unwrap();
    let blob = images.join(format!("docker/registry/v2/blobs/sha256/{}/{digest}/data", &digest[..2]));
    let sum = Command::new("sha256sum").arg(blob).output().unwrap().stdout;
    assert!(String::from_utf8_lossy(&sum).starts_with(digest), "{image}");
    let tag = format!("acme/os-master/_manifests/tags/master-{}", &crate::ID[..12]);
    assert!(repositories.join(tag).is_dir());
    for folder in ["mcc/bootstrap", "openshift/manifests"] {
        assert!(host.read(&format!("{folder}/09-ocl-osimageurl-master.yaml")).contains(image));
        assert!(host.read(&format!("{folder}/ocl-machineosconfig-master.yaml")).contains(image));
    }
}

struct Case {
    name: &'static str,
    code: &'static str,
    user: &'static str,
    /// What is wrong with the host.
    prepare: fn(&Host),
    /// What runs before the builder's last run, and what runs after.
    before: &'static str,
    after: &'static str,
    told: &'static str,
}

const CASE: Case = Case { name: "", code: "", user: GOOD, prepare: |_| {}, before: "", after: "", told: "" };

const CASES: [Case; 8] = [
    Case {
        name: "a step that fails",
        code: "build-user",
        user: "FROM configs AS final\nRUN TOKEN=hunter2; echo no such package >&2; exit 7\n",
        after: "grep -q 'no such package' /var/log/ocl/build-master-1.log\ngrep -q 'FROM configs AS final' /var/log/ocl/Containerfile.master\n\
                fails grep -r hunter2 /var/log/ocl\n",
        told: "no such package",
        ..CASE
    },
    Case {
        name: "a configuration that can't be rendered",
        code: "render",
        prepare: |host| host.write("mcc/bootstrap/broken", ""),
        after: "grep -q '50-mine' /var/log/ocl/pass1.log\nrm /etc/mcc/bootstrap/broken\n",
        told: "it is broken",
        ..CASE
    },
    Case {
        name: "an image that is not there",
        code: "preflight",
        user: "FROM localhost:1/none:1 AS tools\nFROM configs AS final\n",
        told: "localhost:1/none:1",
        ..CASE
    },
    Case {
        name: "a swapped image",
        code: "verify",
        before: "fails env ASSISTED_DIE_AFTER='1 build verifying' $OCL run 2> /dev/null\ndigest=$(cut -d : -f 2 /opt/openshift/ocl/state/digest-master)\n\
                 set -- /var/ocl-scratch/registry/docker/registry/v2/blobs/sha256/*/$digest/data\necho >> $1\n",
        told: "",
        ..CASE
    },
    Case {
        name: "a registry that takes nothing",
        code: "push",
        prepare: |host| {
            let port = host.port() + 1;
            let text = format!(
                "version: 0.1\nhttp: {{addr: '127.0.0.1:{port}'}}\nstorage: {{filesystem: {{rootdirectory: /var/lib/registry}}, maintenance: {{readonly: {{enabled: true}}}}}}\n"
            );
            host.write("openshift/ocl/registry/config-rw.yaml", &text);
        },
        told: "can't be pushed",
        ..CASE
    },
    Case {
        name: "a registry that nobody reaches",
        code: "registry",
        prepare: |host| host.write_settings("config-ro.yaml", host.port() + 1, true),
        told: "doesn't answer",
        ..CASE
    },
    Case {
        name: "no room",
        code: "build-infra",
        user: "FROM configs AS final\nRUN head -c 400000000 /dev/zero > /usr/share/large\n",
        before: "mkdir -p /var/ocl-scratch\nmount -t tmpfs -o size=350m ocl-scratch /var/ocl-scratch\n",
        told: "o space left",
        ..CASE
    },
    Case {
        name: "no time left",
        code: "timeout",
        before: "fails env ASSISTED_DIE_AFTER='1 build waiting-for-render' $OCL run 2> /dev/null\n\
                 sed -i 's/\"started_at\":\"20[0-9][0-9]/\"started_at\":\"2019/' /opt/openshift/ocl/state/status.json\n",
        told: "15 minutes",
        ..CASE
    },
];

/// Each way to fail has its code, holds the temporary control plane back, is told in the bundle without secrets, and leaves nothing mounted
/// or running. After a reset the same host builds.
#[test]
fn everything_failures_have_their_codes() {
    let host = Host::new();
    host.make_release();
    for case in &CASES {
        host.reset();
        host.write_settings("config-ro.yaml", host.port(), true);
        host.write_settings("config-rw.yaml", host.port() + 1, false);
        host.write_input(case.user);
        (case.prepare)(&host);
        let script = format!(
            "{}fails $OCL run 2> /shared/err\ntest -s /opt/openshift/ocl/failed\nfails $OCL run 2> /shared/again\n\
             fails grep ocl-scratch /proc/mounts\nfails podman container exists ocl-registry\ntest -s /var/log/ocl/status.json\n{}",
            case.before, case.after
        );
        host.run(&script);
        let status = host.status();
        let error = &status["builds"][0]["error"];
        assert_eq!(error["code"], case.code, "{}: {status:#}\n{}", case.name, host.read("shared/err"));
        assert!(error["reason"].as_str().unwrap().contains(case.told), "{}: {error}", case.name);
        assert!(!status.to_string().contains("hunter2"), "{status}");
        assert!(host.read("shared/again").contains(case.code));
    }
    host.reset();
    host.write_settings("config-ro.yaml", host.port(), true);
    host.write_input(GOOD);
    host.run("$OCL run\n");
    assert_eq!(host.status()["builds"][0]["state"], "Ready");
}

/// A builder that is stopped ends its programs, and gives back what it took; one that is stopped before it begins builds nothing.
#[test]
fn a_builder_can_be_stopped() {
    let host = Host::new();
    host.make_release();
    host.write_input("FROM configs AS final\nRUN sleep 1000\n");
    host.run(
        "$OCL stop\ntest -s /opt/openshift/ocl/failed\nfails $OCL run 2> /shared/first\ngrep -q 'cancelled: the build was stopped' /shared/first\n\
         fails test -e /opt/openshift/ocl/pass1\nrm -r /opt/openshift/ocl/failed /opt/openshift/ocl/state\n",
    );
    host.run(
        "$OCL run 2> /shared/err & builder=$!\n\
         for second in $(seq 300); do if grep -qs 'RUN sleep' /opt/openshift/ocl/state/status.json; then break; fi; sleep 1; done\n\
         grep -q 'RUN sleep' /opt/openshift/ocl/state/status.json\nfails $OCL run 2> /shared/second\n\
         $OCL stop\nfails wait $builder\nfails grep ocl-scratch /proc/mounts\nfails podman container exists ocl-registry\n\
         test -s /opt/openshift/ocl/failed\n$OCL stop\n",
    );
    assert!(host.read("shared/second").contains("another builder runs"));
    assert_eq!(host.status()["builds"][0]["error"]["code"], "cancelled");
}
