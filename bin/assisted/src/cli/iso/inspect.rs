//! `assisted iso inspect`: what is inside an image.

use std::fs::File;

use assisted_console::Failure;
use assisted_console::output::{bytes, facts, line, list, show};
use assisted_isokit::inspect::{Config, Generation, Ignition, Kind};
use assisted_isokit::iso::eltorito::Platform;
use assisted_isokit::{Inspection, inspect};
use clap::Args;

use super::remote::Remote;
use crate::cli::common::Context;

#[derive(Args, Debug)]
pub struct Inspect {
    /// File, or address of an image; of the latter only what is needed is fetched
    image: String,
    /// Print the embedded Ignition config itself: it holds secrets
    #[arg(long)]
    ignition: bool,
}

impl Inspect {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let found = if self.image.starts_with("http://") || self.image.starts_with("https://") {
            let remote = Remote::open(super::http(context)?, self.image.clone()).await?;
            let looked = tokio::task::spawn_blocking(move || inspect(&remote)).await;
            looked.map_err(|error| Failure::Refused(error.to_string()))?
        } else {
            let file = File::open(&self.image)
                .map_err(|error| Failure::Usage(format!("can't open {}: {error}", self.image)))?;
            inspect(&file)
        };
        let found = found.map_err(|error| Failure::Refused(error.to_string()))?;
        if self.ignition {
            return match &found.ignition.contents.config {
                Some(config) => line(&String::from_utf8_lossy(config)),
                None => Err(Failure::Refused("the image holds no Ignition config".into())),
            };
        }
        show(context.format, &found, describe)
    }
}

fn describe(found: &Inspection) -> String {
    let config = found.ignition.config.as_ref();
    let of_config =
        |value: fn(&Config) -> Option<&String>| config.and_then(value).cloned().unwrap_or_default();
    let kargs = found.kargs.clone().unwrap_or_default();
    let added = kargs.current.strip_prefix(&kargs.default).map(str::trim);
    facts(&[
        ("volume id", found.volume_id.clone()),
        ("kind", if found.kind == Kind::Full { "full ISO" } else { "minimal ISO" }.to_owned()),
        ("architecture", found.architecture.map_or("unknown", |found| found.as_str()).to_owned()),
        ("size", bytes(i64::try_from(found.size).unwrap_or(i64::MAX))),
        ("boots as", boots(found)),
        ("described by", generation(&found.generation)),
        ("service", of_config(|config| config.service_url.as_ref())),
        ("infra-env", of_config(|config| config.infra_env_id.as_ref())),
        ("Ignition", ignition(&found.ignition)),
        ("files", config.map(|config| list(&config.files)).unwrap_or_default()),
        ("units", config.map(|config| list(&config.units)).unwrap_or_default()),
        ("kernel arguments", kargs.default.clone()),
        // When they were not only added to, all of them.
        ("added", added.unwrap_or(&kargs.current).to_owned()),
        ("root file system", found.rootfs_url.clone().unwrap_or_default()),
        ("ramdisk", found.ramdisk.as_ref().map(|ramdisk| list(&ramdisk.files)).unwrap_or_default()),
        ("static network", network(found)),
        ("network keyfiles", list(&found.ignition.network)),
        ("problems", found.problems.join("\n")),
    ])
}

fn boots(found: &Inspection) -> String {
    let firmware = |platform| match platform {
        Platform::Bios => "BIOS".to_owned(),
        Platform::Efi => "UEFI".to_owned(),
        other => format!("{other:?}"),
    };
    let entries = found.boot.iter().map(|boot| format!("{} ({})", firmware(boot.platform), boot.image));
    let disk = (!found.disk.is_empty()).then(|| format!("disk ({})", list(&found.disk)));
    list(entries.chain(disk))
}

fn generation(generation: &Generation) -> String {
    let Generation { ignition_header, kargs_header, kargs_json, features_json, igninfo_json, minimal_recipe } =
        generation;
    let parts = [
        (*ignition_header, "coreiso+ header"),
        (*kargs_header, "coreKarg header"),
        (*igninfo_json, "igninfo.json"),
        (*kargs_json, "kargs.json"),
        (*features_json, "features.json"),
        (minimal_recipe.is_some(), "miniso.dat"),
    ];
    list(parts.into_iter().filter(|(there, _)| *there).map(|(_, name)| name))
}

fn ignition(ignition: &Ignition) -> String {
    let used = match &ignition.config {
        Some(config) => {
            format!("{}, {} files, {} units", config.version, config.files.len(), config.units.len())
        }
        None => "none".to_owned(),
    };
    let area = ignition.area.as_ref().and_then(|area| i64::try_from(area.length).ok());
    match area {
        Some(area) => format!("{used}; room for {}", bytes(area)),
        None => used,
    }
}

fn network(found: &Inspection) -> String {
    match found.network_hosts {
        0 => String::new(),
        1 => "1 host".to_owned(),
        hosts => format!("{hosts} hosts"),
    }
}
