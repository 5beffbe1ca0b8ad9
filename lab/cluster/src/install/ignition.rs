//! The Ignition configs: the bootstrap's holds the cluster's beginning, the others point to where configs are served.

use anyhow::Result;
use assisted_ignition_spec::Config;
use assisted_ignition_spec::config::{File, Unit};
use assisted_ignition_spec::resource::Resource;

use super::{FOLDERS, Run};
use crate::cluster::{BOOTSTRAP, CONFIG_PORT, Cluster};
use crate::control_plane::{PUBLIC, names};
use crate::files;

/// The script of the temporary control plane, in the stages of the real one's.
const BOOTKUBE: &str = "/usr/local/bin/bootkube.sh";
const VERSION: &str = "3.2.0";
/// Units of the bootstrap host; whoever installs starts them.
const UNITS: [(&str, &str); 5] = [
    ("node-image-pull.service", include_str!("../../units/node-image-pull.service")),
    ("node-image-overlay.service", include_str!("../../units/node-image-overlay.service")),
    ("bootkube.service", include_str!("../../units/bootkube.service")),
    ("approve-csr.service", include_str!("../../units/approve-csr.service")),
    ("progress.service", include_str!("../../units/progress.service")),
];

/// All configs under the names of their files.
pub fn configs(
    run: &Run,
    cluster: &Cluster,
    laid: &[(String, u32, String)],
    single: bool,
) -> Result<Vec<(&'static str, Config)>> {
    let bootstrap = bootstrap(run, cluster, laid)?;
    if single {
        return Ok(vec![("bootstrap-in-place-for-live-iso.ign", bootstrap)]);
    }
    let root = laid.iter().find(|(name, ..)| name == names::ROOT).map(|(.., text)| text.as_str());
    let mut all = vec![("bootstrap.ign", bootstrap)];
    for (name, role) in [("master.ign", "master"), ("worker.ign", "worker"), ("arbiter.ign", "arbiter")] {
        if role != "arbiter" || cluster.arbiters > 0 {
            all.push((name, pointer(cluster, role, root.unwrap_or_default())));
        }
    }
    Ok(all)
}

fn bootstrap(run: &Run, cluster: &Cluster, laid: &[(String, u32, String)]) -> Result<Config> {
    let mut config = Config::new(VERSION);
    config.storage.files.push(File {
        path: "/etc/motd".to_owned(),
        append: vec![Resource::bytes(
            "This is the bootstrap node; it will be destroyed when the master is fully up.\n",
        )],
        mode: Some(0o644),
        ..File::default()
    });
    config.add_file("/root/.docker/config.json", 0o600, Resource::bytes(&run.config.pull_secret));
    for folder in FOLDERS {
        let Ok(entries) = std::fs::read_dir(run.dir.join(folder)) else { continue };
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
        paths.sort();
        for path in paths.iter().filter(|path| path.is_file()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            config.add_file(
                &format!("{BOOTSTRAP}/{folder}/{name}"),
                0o644,
                Resource::bytes(files::read(path)?),
            );
        }
    }
    for (name, mode, text) in laid.iter().filter(|(name, ..)| name != PUBLIC) {
        config.add_file(&format!("{BOOTSTRAP}/{name}"), *mode, Resource::bytes(text));
    }
    config.add_file(BOOTKUBE, 0o555, Resource::bytes(include_str!("../../units/bootkube.sh")));
    config.add_file(&Cluster::path(BOOTSTRAP).to_string_lossy(), 0o600, Resource::bytes(cluster.text()?));
    for (name, text) in UNITS {
        let unit = Unit { name: name.to_owned(), contents: Some(text.to_owned()), ..Unit::default() };
        config.systemd.units.push(unit);
    }
    Ok(config)
}

fn pointer(cluster: &Cluster, role: &str, root: &str) -> Config {
    let mut config = Config::new(VERSION);
    let source = format!("https://{}:{CONFIG_PORT}/config/{role}", cluster.config_server());
    config.ignition.config.merge.push(Resource { source: Some(source), ..Resource::default() });
    config.ignition.security.tls.certificate_authorities.push(Resource::bytes(root));
    config
}
