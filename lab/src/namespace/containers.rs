//! Settings of the container tools in a machine.

/// How podman and skopeo work here: in a machine that has no control groups of its own, with a registry that speaks plain HTTP.
pub(super) const FILES: &[(&str, &str)] = &[
    ("etc/containers/policy.json", "{\"default\": [{\"type\": \"insecureAcceptAnything\"}]}\n"),
    (
        "etc/containers/containers.conf",
        "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=4096:4096\"]\npids_limit = 0\ncgroups = \"disabled\"\n",
    ),
    (
        "etc/containers/storage.conf",
        "[storage]\ndriver = \"vfs\"\ngraphroot = \"/var/lib/containers/storage\"\nrunroot = \"/run/containers\"\n",
    ),
    ("etc/containers/registries.conf", "[[registry]]\nlocation = \"192.168.126.1:5000\"\ninsecure = true\n"),
];
