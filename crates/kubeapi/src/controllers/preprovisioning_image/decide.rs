//! What a PreprovisioningImage shows, and when it may go (kube-api §6.7).

use assisted_crd::agent_install::conditions::infra_env as of_infra_env;
use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::condition::{Outcome, Statement, find, set};
use assisted_crd::labels::label;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_crd::metal3::conditions::{network_data, preprovisioning_image as conditions};
use assisted_crd::metal3::preprovisioning_image::{PreprovisioningImage, PreprovisioningImageStatus};
use assisted_kube::finalizer::is_deleting;
use assisted_wire::infra_env::KernelArgumentOperation;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use crate::SyncError;

/// What an InfraEnv says of the image that machines boot.
const IMAGE_CREATED: &str = "ImageCreated";
const IMAGE_CREATION_ERROR: &str = "ImageCreationError";
/// What a PreprovisioningImage says.
const READY: &str = "Ready";
const ERROR: &str = "Error";

/// What metal3 can boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Iso,
    Initrd,
}

/// An image for metal3.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Image {
    pub(super) image_url: String,
    kernel_url: String,
    extra_kernel_params: String,
    format: &'static str,
    architecture: String,
    /// What the InfraEnv says of it.
    said: Statement,
}

/// Why there is no image.
#[derive(Debug)]
pub(super) enum Obstacle {
    UnsupportedFormat,
    /// The network of the machine is to be that of this Secret.
    UnsupportedNetworkData {
        secret: String,
    },
    NoInfraEnv {
        name: String,
        namespace: String,
    },
    OtherArchitecture {
        own: String,
        other: String,
    },
    /// The agent of Ironic is not in it.
    Ironic(SyncError),
    /// It is being made anew.
    Changed,
    NotCreated,
    /// It may change again.
    Rests {
        until: Timestamp,
    },
}

/// What is shown.
pub(super) enum Shown<'a> {
    Image(Image),
    Obstacle(&'a Obstacle),
}

/// The state of a machine, as metal3 tells it.
pub(super) fn state(machine: &BareMetalHost) -> &str {
    machine.status.as_ref().map_or("", |status| status.provisioning.state.as_str())
}

/// Whether metal3 still cleans the machine with its image.
pub(super) fn is_needed_by(machine: &BareMetalHost) -> bool {
    machine.spec.automated_cleaning_mode != "disabled"
        && (!is_deleting(&machine.metadata)
            || !matches!(state(machine), "powering off before delete" | "deleting"))
}

/// The InfraEnv whose image is wanted, and in which form; `infra_env`: the one that the object names, unless it goes.
///
/// # Errors
/// There is none, or metal3 can't boot it.
pub(super) fn fits<'a>(
    object: &PreprovisioningImage,
    infra_env: Option<&'a InfraEnv>,
) -> Result<(&'a InfraEnv, Format), Obstacle> {
    let accepts = |format: &str| object.spec.accept_formats.iter().any(|known| known == format);
    let format = match (accepts("iso"), accepts("initrd")) {
        (true, _) => Format::Iso,
        (false, true) => Format::Initrd,
        (false, false) => return Err(Obstacle::UnsupportedFormat),
    };
    if !object.spec.network_data_name.is_empty() {
        return Err(Obstacle::UnsupportedNetworkData { secret: object.spec.network_data_name.clone() });
    }
    let infra_env = infra_env.ok_or_else(|| Obstacle::NoInfraEnv {
        name: object.labels().get(label::INFRA_ENV).cloned().unwrap_or_default(),
        namespace: object.namespace().unwrap_or_default(),
    })?;
    let (own, other) = (&object.spec.architecture, &infra_env.spec.cpu_architecture);
    if normal(own) != normal(other) {
        return Err(Obstacle::OtherArchitecture { own: own.clone(), other: other.clone() });
    }
    Ok((infra_env, format))
}

/// The one name of an architecture.
fn normal(architecture: &str) -> &str {
    match architecture {
        "" => "x86_64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The image of an InfraEnv.
///
/// # Errors
/// It is not there yet, or was made just now.
pub(super) fn image(
    infra_env: &InfraEnv,
    format: Format,
    cool_down: SignedDuration,
    now: Timestamp,
) -> Result<Image, Obstacle> {
    let status = infra_env.status.as_ref().ok_or(Obstacle::NotCreated)?;
    let created = status.created_time.as_ref().ok_or(Obstacle::NotCreated)?;
    if let Ok(until) = created.0.checked_add(cool_down)
        && until > now
    {
        return Err(Obstacle::Rests { until });
    }
    let said = find(&status.conditions, IMAGE_CREATED).ok_or(Obstacle::NotCreated)?;
    let known = |outcome: &&Outcome| outcome.reason == said.reason && outcome.status == said.status;
    let outcome = of_infra_env::ALL.iter().find(known).ok_or(Obstacle::NotCreated)?;
    let said = Statement {
        r#type: READY,
        status: outcome.status,
        reason: outcome.reason,
        message: said.message.clone(),
        generation: None,
    };
    let architecture = infra_env.spec.cpu_architecture.clone();
    Ok(match format {
        Format::Iso => Image {
            image_url: status.iso_download_url.clone(),
            kernel_url: String::new(),
            extra_kernel_params: String::new(),
            format: "iso",
            architecture,
            said,
        },
        Format::Initrd => {
            let artifacts = status.boot_artifacts.clone().unwrap_or_default();
            let mut arguments = format!("coreos.live.rootfs_url={} rd.bootif=0", artifacts.rootfs);
            for argument in &infra_env.spec.kernel_arguments {
                if argument.operation == Some(KernelArgumentOperation::Append) {
                    arguments.push(' ');
                    arguments.push_str(&argument.value);
                }
            }
            Image {
                image_url: artifacts.initrd,
                kernel_url: artifacts.kernel,
                extra_kernel_params: arguments,
                format: "initrd",
                architecture,
                said,
            }
        }
    })
}

/// The status that says this.
pub(super) fn status(
    object: &PreprovisioningImage,
    shown: &Shown<'_>,
    now: &Time,
) -> PreprovisioningImageStatus {
    let before = object.status.clone().unwrap_or_default();
    let (mut status, said) = match shown {
        Shown::Image(image) => {
            let status = PreprovisioningImageStatus {
                image_url: image.image_url.clone(),
                kernel_url: image.kernel_url.clone(),
                extra_kernel_params: image.extra_kernel_params.clone(),
                format: image.format.to_owned(),
                architecture: image.architecture.clone(),
                ..before
            };
            let failed = image.said.reason == IMAGE_CREATION_ERROR;
            let error = Statement {
                r#type: ERROR,
                status: if failed { "True" } else { "False" },
                ..image.said.clone()
            };
            (status, [image.said.clone(), error])
        }
        Shown::Obstacle(obstacle) => {
            let PreprovisioningImageStatus { conditions, network_data, .. } = before;
            let status = PreprovisioningImageStatus { conditions, network_data, ..Default::default() };
            (status, statements(obstacle))
        }
    };
    for statement in said {
        let statement = Statement { generation: object.metadata.generation, ..statement };
        set(&mut status.conditions, statement, now);
    }
    status
}

fn statements(obstacle: &Obstacle) -> [Statement; 2] {
    use conditions as said;
    let (ready, error, values): (_, _, Vec<&str>) = match obstacle {
        Obstacle::UnsupportedFormat => {
            (said::READY_UNSUPPORTED_IMAGE_FORMAT, said::ERROR_UNSUPPORTED_IMAGE_FORMAT, vec![])
        }
        Obstacle::UnsupportedNetworkData { secret } => {
            (network_data::READY, network_data::ERROR, vec![secret])
        }
        Obstacle::NoInfraEnv { name, namespace } => {
            (said::READY_INFRA_ENV_NOT_AVAILABLE, said::ERROR_INFRA_ENV_NOT_AVAILABLE, vec![name, namespace])
        }
        Obstacle::OtherArchitecture { own, other } => {
            (said::READY_INFRA_ENV_ARCH_MISMATCH, said::ERROR_INFRA_ENV_ARCH_MISMATCH, vec![own, other])
        }
        Obstacle::Ironic(problem) => (
            said::READY_IRONIC_AGENT_IGNITION_UPDATE_FAILURE,
            said::ERROR_IRONIC_AGENT_IGNITION_UPDATE_FAILURE,
            vec![&problem.text],
        ),
        Obstacle::NotCreated | Obstacle::Changed => (
            said::READY_WAITING_FOR_INFRA_ENV_IMAGE_TO_BE_CREATED,
            said::ERROR_WAITING_FOR_INFRA_ENV_IMAGE_TO_BE_CREATED,
            vec![],
        ),
        Obstacle::Rests { .. } => (
            said::READY_WAITING_FOR_INFRA_ENV_IMAGE_TO_COOL_DOWN,
            said::ERROR_WAITING_FOR_INFRA_ENV_IMAGE_TO_COOL_DOWN,
            vec![],
        ),
    };
    [ready.with(&values), error.with(&values)]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(formats: &[&str], architecture: &str) -> PreprovisioningImage {
        serde_json::from_value(json!({
            "metadata": {"name": "node-0", "namespace": "site", "generation": 3, "labels": {(label::INFRA_ENV): "rack"}},
            "spec": {"acceptFormats": formats, "architecture": architecture},
        }))
        .unwrap()
    }

    fn infra_env(architecture: &str, created: Option<i64>, said: (&str, &str)) -> InfraEnv {
        let created = created.map(|at| Timestamp::from_second(at).unwrap().to_string());
        serde_json::from_value(json!({
            "metadata": {"name": "rack"},
            "spec": {"cpuArchitecture": architecture, "kernelArguments": [
                {"operation": "append", "value": "a=1"}, {"operation": "delete", "value": "b"},
                {"operation": "append", "value": "c"},
            ]},
            "status": {
                "isoDownloadURL": "http://iso", "createdTime": created,
                "bootArtifacts": {"initrd": "http://initrd", "kernel": "http://kernel", "rootfs": "http://rootfs"},
                "conditions": [{"type": "ImageCreated", "status": said.0, "reason": said.1, "message": "told"}],
            },
        }))
        .unwrap()
    }

    const AVAILABLE: (&str, &str) = ("True", "InfraEnvAvailable");

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Status, reason and message of both conditions.
    fn conditions_of(status: &PreprovisioningImageStatus) -> Value {
        let told = |kind: &str| {
            let entry = find(&status.conditions, kind).unwrap();
            assert_eq!(entry.observed_generation, Some(3));
            json!([entry.status, entry.reason, entry.message])
        };
        json!([told(READY), told(ERROR)])
    }

    #[test]
    fn an_image_comes_in_the_form_that_metal3_boots() {
        let rest = SignedDuration::from_secs(60);
        let whole = infra_env("x86_64", Some(0), AVAILABLE);
        for (formats, expected) in [
            (&["initrd", "iso"][..], Some(Format::Iso)),
            (&["initrd"], Some(Format::Initrd)),
            (&["qcow2"], None),
            (&[], None),
        ] {
            let found = fits(&object(formats, "x86_64"), Some(&whole));
            assert_eq!(found.ok().map(|(_, format)| format), expected, "{formats:?}");
        }
        let own = object(&["iso"], "x86_64");
        let iso = image(&whole, Format::Iso, rest, at(60)).unwrap();
        let shown = status(&own, &Shown::Image(iso), &Time(at(60)));
        assert_eq!((shown.image_url.as_str(), shown.kernel_url.as_str()), ("http://iso", ""));
        assert_eq!((shown.format.as_str(), shown.architecture.as_str()), ("iso", "x86_64"));
        assert_eq!(
            conditions_of(&shown),
            json!([["True", "InfraEnvAvailable", "told"], ["False", "InfraEnvAvailable", "told"]])
        );
        let initrd = image(&whole, Format::Initrd, rest, at(60)).unwrap();
        let shown = status(&own, &Shown::Image(initrd), &Time(at(60)));
        assert_eq!((shown.image_url.as_str(), shown.kernel_url.as_str()), ("http://initrd", "http://kernel"));
        assert_eq!(shown.extra_kernel_params, "coreos.live.rootfs_url=http://rootfs rd.bootif=0 a=1 c");
        // What stands in the way takes the image away.
        let own = PreprovisioningImage { status: Some(shown), ..own };
        let shown = status(&own, &Shown::Obstacle(&Obstacle::NotCreated), &Time(at(60)));
        assert_eq!(
            PreprovisioningImageStatus { conditions: Vec::new(), ..shown.clone() },
            Default::default()
        );
        assert_eq!(conditions_of(&shown)[0][1], "WaitingForInfraEnvImageToBeCreated");
    }

    #[test]
    fn an_image_that_failed_or_is_young_is_told() {
        let rest = SignedDuration::from_secs(60);
        let young = image(&infra_env("", Some(1), AVAILABLE), Format::Iso, rest, at(60));
        assert!(matches!(young, Err(Obstacle::Rests { until }) if until == at(61)), "{young:?}");
        let own = object(&["iso"], "");
        let shown = status(&own, &Shown::Obstacle(&young.unwrap_err()), &Time(at(60)));
        let text = "Waiting for InfraEnv image to cool down";
        let waiting = json!(["False", "WaitingForInfraEnvImageToCoolDown", text]);
        assert_eq!(conditions_of(&shown), json!([waiting, waiting]));
        let missing = image(&infra_env("", None, AVAILABLE), Format::Iso, rest, at(60));
        assert!(matches!(missing, Err(Obstacle::NotCreated)));
        let odd = image(&infra_env("", Some(0), ("True", "Odd")), Format::Iso, rest, at(60));
        assert!(matches!(odd, Err(Obstacle::NotCreated)));
        let failed =
            image(&infra_env("", Some(0), ("False", IMAGE_CREATION_ERROR)), Format::Iso, rest, at(60));
        let shown = status(&object(&["iso"], ""), &Shown::Image(failed.unwrap()), &Time(at(60)));
        assert_eq!(
            conditions_of(&shown),
            json!([["False", "ImageCreationError", "told"], ["True", "ImageCreationError", "told"]])
        );
    }

    #[test]
    fn what_is_missing_or_of_another_architecture_is_told() {
        let other = object(&["qcow2"], "aarch64");
        let obstacle = fits(&other, None).err().unwrap();
        let text = "Unsupported image format";
        assert_eq!(
            conditions_of(&status(&other, &Shown::Obstacle(&obstacle), &Time(at(0)))),
            json!([["False", "UnsupportedImageFormat", text], ["True", "UnsupportedImageFormat", text]])
        );
        let mut described = object(&["iso"], "x86_64");
        described.spec.network_data_name = "network".to_owned();
        let obstacle = fits(&described, Some(&infra_env("x86_64", Some(0), AVAILABLE))).err().unwrap();
        let shown = conditions_of(&status(&described, &Shown::Obstacle(&obstacle), &Time(at(0))));
        let begins = "The network of Secret network can't be put into the image";
        for (place, expected) in [(0, "False"), (1, "True")] {
            assert_eq!(
                (&shown[place][0], &shown[place][1]),
                (&json!(expected), &json!("UnsupportedNetworkData"))
            );
            assert!(shown[place][2].as_str().unwrap().starts_with(begins), "{shown}");
        }
        let lost = Obstacle::Ironic(SyncError::backend("away"));
        let text = "Could not add ironic agent to image: away";
        assert_eq!(
            conditions_of(&status(&other, &Shown::Obstacle(&lost), &Time(at(0)))),
            json!([
                ["False", "IronicAgentIgnitionUpdateFailure", text],
                ["True", "IronicAgentIgnitionUpdateFailure", text]
            ])
        );
        let own = object(&["iso"], "aarch64");
        assert!(fits(&own, Some(&infra_env("arm64", Some(0), AVAILABLE))).is_ok());
        for (found, expected) in [
            (
                fits(&own, None),
                json!([
                    ["False", "InfraEnvNotAvailable", "InfraEnv rack/site is not found or is being deleted"],
                    ["False", "InfraEnvNotAvailable", "InfraEnv rack/site is not found or is being deleted"]
                ]),
            ),
            (
                fits(&own, Some(&infra_env("x86_64", Some(0), AVAILABLE))),
                json!([
                    [
                        "False",
                        "InfraEnvArchMismatch",
                        "PreprovisioningImage CPU architecture (aarch64) does not match InfraEnv CPU architecture (x86_64)"
                    ],
                    [
                        "True",
                        "InfraEnvArchMismatch",
                        "PreprovisioningImage CPU architecture (aarch64) does not match InfraEnv CPU architecture (x86_64)"
                    ]
                ]),
            ),
        ] {
            let obstacle = found.err().unwrap();
            assert_eq!(conditions_of(&status(&own, &Shown::Obstacle(&obstacle), &Time(at(0)))), expected);
        }
    }

    #[test]
    fn a_machine_that_is_cleaned_needs_its_image() {
        let machine = |mode: &str, state: &str, deleted: Option<&str>| -> BareMetalHost {
            serde_json::from_value(json!({
                "metadata": {"name": "node-0", "deletionTimestamp": deleted},
                "spec": {"automatedCleaningMode": mode},
                "status": {"provisioning": {"state": state}},
            }))
            .unwrap()
        };
        let going = Some("2024-01-01T00:00:00Z");
        for (machine, expected) in [
            (machine("disabled", "deprovisioning", going), false),
            (machine("metadata", "available", None), true),
            (machine("metadata", "deprovisioning", going), true),
            (machine("metadata", "powering off before delete", going), false),
            (machine("", "deleting", going), false),
        ] {
            assert_eq!(is_needed_by(&machine), expected, "{machine:?}");
        }
    }
}
