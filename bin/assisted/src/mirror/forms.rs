//! Plans in the forms that other tools take.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use assisted_console::Failure;
use assisted_core::catalogue::release::architecture::normal;
use assisted_release::image::go_name;
use assisted_release::mirror::{Mirror, Pull, Rule};
use assisted_release::{Mirrors, Reference};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::plan::Plan;

/// What a plan is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// An ImageSetConfiguration, by which oc-mirror copies
    ImageSet,
    /// ImageDigestMirrorSet and ImageTagMirrorSet, which tell a cluster of the copies
    MirrorSet,
    /// A registries.conf, which tells the service and hosts of the copies
    RegistriesConf,
}

/// A form, and where the copies are.
pub(super) struct Filled {
    form: Form,
    to: String,
}

/// Where releases come from that oc-mirror finds by their version.
const RELEASES: &str = "quay.io/openshift-release-dev/ocp-release";

/// A repository, and what is pulled from it.
#[derive(Clone, Copy, Debug, Default)]
struct Pulled {
    by_digest: bool,
    by_tag: bool,
}

impl Form {
    /// With the place of the copies, where it is needed.
    pub(super) fn to(self, place: Option<&str>) -> Result<Filled, Failure> {
        let to = match (self, place) {
            (Self::ImageSet, _) => String::new(),
            (_, Some(place)) => place.trim_end_matches('/').to_owned(),
            (_, None) => {
                return Err(Failure::Usage(
                    "say where the copies are to be: --to REGISTRY[/PATH]".to_owned(),
                ));
            }
        };
        if self != Self::ImageSet {
            // Else the mistake would stand in each line.
            let mirrors = vec![Mirror { location: to.clone(), insecure: false, pull: Pull::All }];
            let rule =
                Rule { prefix: "x.x".to_owned(), location: None, blocked: false, insecure: false, mirrors };
            Mirrors::new([rule]).map_err(|error| Failure::Usage(format!("--to: {error}")))?;
        }
        Ok(Filled { form: self, to })
    }
}

impl Filled {
    /// The plan in this form.
    pub(super) fn write(&self, plan: &Plan) -> Result<String, Failure> {
        Ok(match self.form {
            Form::ImageSet => yaml(&image_set(plan)?)?,
            Form::MirrorSet => self.mirror_set(plan)?,
            Form::RegistriesConf => self.registries_conf(plan)?,
        })
    }

    fn copy(&self, repository: &str) -> String {
        let path = repository.split_once('/').map_or(repository, |(_, path)| path);
        format!("{}/{path}", self.to)
    }

    fn mirror_set(&self, plan: &Plan) -> Result<String, Failure> {
        let pulled = pulled(plan)?;
        let set = |is_meant: fn(&Pulled) -> bool| -> Vec<Value> {
            let meant = pulled.iter().filter(|(_, pulled)| is_meant(pulled));
            meant.map(|(source, _)| json!({"source": source, "mirrors": [self.copy(source)]})).collect()
        };
        let mut text = String::new();
        for (kind, key, sets) in [
            ("ImageDigestMirrorSet", "imageDigestMirrors", set(|pulled| pulled.by_digest)),
            ("ImageTagMirrorSet", "imageTagMirrors", set(|pulled| pulled.by_tag)),
        ] {
            if sets.is_empty() {
                continue;
            }
            let object = json!({
                "apiVersion": "config.openshift.io/v1", "kind": kind, "metadata": {"name": "assisted-mirrors"}, "spec": {key: sets},
            });
            let _ = write!(text, "---\n{}", yaml(&object)?);
        }
        Ok(text)
    }

    fn registries_conf(&self, plan: &Plan) -> Result<String, Failure> {
        let mut text = String::new();
        for (source, Pulled { by_digest, by_tag }) in pulled(plan)? {
            let pull = match (by_digest, by_tag) {
                (true, true) => "all",
                (true, false) => "digest-only",
                _ => "tag-only",
            };
            let _ = write!(
                text,
                "[[registry]]\nlocation = \"{source}\"\n\n[[registry.mirror]]\nlocation = \"{}\"\npull-from-mirror = \"{pull}\"\n\n",
                self.copy(&source)
            );
        }
        Ok(text)
    }
}

fn parse(image: &str) -> Result<Reference, Failure> {
    image.parse().map_err(Failure::refused)
}

/// Every repository that something is pulled from; what is pulled by digest is read from the catalogues, too.
fn pulled(plan: &Plan) -> Result<BTreeMap<String, Pulled>, Failure> {
    let mut all: BTreeMap<String, Pulled> = BTreeMap::new();
    let images = plan.images.iter().map(|needed| &needed.image);
    let catalogues = plan.catalogues.iter().map(|catalogue| &catalogue.image);
    for image in images.chain(catalogues).chain([&plan.release]) {
        let image = parse(image)?;
        let pulled = all.entry(image.repository.to_string()).or_default();
        match image.digest {
            Some(_) => pulled.by_digest = true,
            None => pulled.by_tag = true,
        }
    }
    Ok(all)
}

fn image_set(plan: &Plan) -> Result<Value, Failure> {
    let release = parse(&plan.release)?;
    let mut mirror = json!({});
    let mut further: BTreeSet<String> = BTreeSet::new();
    let minor = assisted_base::version::base(&plan.version);
    match minor {
        // With it come the images that it is made of.
        Some(minor) if release.repository.to_string() == RELEASES => {
            let architectures: BTreeSet<_> = match plan.version.ends_with(assisted_base::version::MULTI) {
                true => ["multi"].into(),
                false => plan.architectures.iter().map(|one| go_name(normal(*one))).collect(),
            };
            let version = plan.version.trim_end_matches(assisted_base::version::MULTI);
            let channel = if version.contains('-') { "candidate" } else { "stable" };
            mirror["platform"] = json!({
                "architectures": architectures,
                "channels": [{"name": format!("{channel}-{minor}"), "minVersion": version, "maxVersion": version}],
            });
        }
        _ => {
            further.insert(plan.release.clone());
        }
    }
    let comes_with_it = mirror.get("platform").is_some();
    for needed in &plan.images {
        let is_release = parse(&needed.image)?.repository == release.repository;
        let comes_by_itself = is_release || (needed.is_component && comes_with_it);
        if !comes_by_itself {
            further.insert(needed.image.clone());
        }
    }
    if !plan.catalogues.is_empty() {
        let operators = plan.catalogues.iter().map(|catalogue| {
            let packages = catalogue.packages.iter().map(|package| match &package.channel {
                Some(channel) => json!({"name": package.name, "channels": [{"name": channel}]}),
                None => json!({"name": package.name}),
            });
            json!({"catalog": catalogue.image, "packages": packages.collect::<Vec<_>>()})
        });
        mirror["operators"] = operators.collect();
    }
    mirror["additionalImages"] = further.into_iter().map(|image| json!({"name": image})).collect();
    Ok(
        json!({"apiVersion": "mirror.openshift.io/v2alpha1", "kind": "ImageSetConfiguration", "mirror": mirror}),
    )
}

fn yaml(object: &Value) -> Result<String, Failure> {
    serde_yaml_ng::to_string(object).map_err(|error| Failure::Refused(error.to_string()))
}
