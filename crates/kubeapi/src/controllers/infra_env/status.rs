//! What an InfraEnv shows (kube-api §6.3, §7.3, §8).

use std::collections::BTreeMap;

use assisted_crd::agent_install::conditions::infra_env as conditions;
use assisted_crd::agent_install::infra_env::{BootArtifacts, InfraEnvStatus};
use assisted_crd::condition::{Statement, find, set};
use assisted_crd::labels::label;
use assisted_service::infra_env::Links;
use assisted_wire::infra_env::InfraEnv;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};

use crate::controllers::hub::whole_seconds;

/// What became of the image.
#[derive(Clone, Copy, Debug)]
pub(super) enum Image<'a> {
    Available {
        infra_env: &'a InfraEnv,
        links: &'a Links,
    },
    BeingCreated,
    MissingCluster(&'a str),
    /// Who wrote the objects can mend it.
    Refused(&'a str),
    Failed(&'a str),
}

/// The status that the InfraEnv of this name is to show; `before` is the one that it shows.
pub(super) fn status(
    before: Option<&InfraEnvStatus>,
    name: &str,
    image: &Image<'_>,
    has_images: bool,
    now: &Time,
) -> InfraEnvStatus {
    let mut status = before.cloned().unwrap_or_default();
    let own = BTreeMap::from([(label::INFRA_ENV.to_owned(), name.to_owned())]);
    status.agent_label_selector = Some(LabelSelector { match_labels: Some(own), match_expressions: None });
    let statement = match image {
        Image::Available { infra_env, links } => {
            available(&mut status, infra_env, links, has_images);
            if has_images {
                conditions::IMAGE_CREATED_INFRA_ENV_AVAILABLE.with(&[])
            } else {
                conditions::IMAGE_CREATED_INFRA_ENV_AVAILABLE_WITHOUT_IMAGE.with(&[])
            }
        }
        // Without an image service there is no image that could not be made.
        Image::BeingCreated | Image::Refused(_) | Image::Failed(_) if !has_images => return status,
        Image::BeingCreated if shows(&status, &conditions::IMAGE_CREATED_IMAGE_CREATION_ERROR.with(&[])) => {
            return status;
        }
        Image::BeingCreated => conditions::IMAGE_CREATED_IMAGE_CREATED.with(&[]),
        Image::MissingCluster(text) => conditions::IMAGE_CREATED_MISSING_CLUSTER_DEPLOYMENT.with(&[text]),
        Image::Refused(text) => {
            withdraw(&mut status);
            conditions::IMAGE_CREATED_IMAGE_CREATION_ERROR.with(&[text])
        }
        Image::Failed(text) => {
            withdraw(&mut status);
            conditions::IMAGE_CREATED_IMAGE_CREATION_ERROR_INTERNAL.with(&[text])
        }
    };
    set(&mut status.conditions, statement, now);
    status
}

/// Whether the status says this, whatever the message.
fn shows(status: &InfraEnvStatus, statement: &Statement) -> bool {
    find(&status.conditions, statement.r#type).is_some_and(|entry| entry.reason == statement.reason)
}

fn withdraw(status: &mut InfraEnvStatus) {
    status.iso_download_url.clear();
    status.created_time = None;
}

fn available(status: &mut InfraEnvStatus, infra_env: &InfraEnv, links: &Links, has_images: bool) {
    let debug = status.debug_info.get_or_insert_default();
    // Written once: whoever reads them may keep them.
    if debug.events_url.is_empty() {
        debug.events_url.clone_from(&links.events);
    }
    if debug.static_network_download_url.is_empty() && !infra_env.static_network_config.is_empty() {
        debug.static_network_download_url.clone_from(&links.static_network);
    }
    if !has_images {
        return;
    }
    let made = whole_seconds(infra_env.updated_at.0);
    let is_new =
        status.iso_download_url != infra_env.download_url || status.created_time.as_ref() != Some(&made);
    if is_new {
        status.iso_download_url.clone_from(&infra_env.download_url);
        status.created_time = Some(made);
    }
    let artifacts = status.boot_artifacts.get_or_insert_default();
    artifacts.kernel.clone_from(&links.kernel);
    artifacts.rootfs.clone_from(&links.rootfs);
    // Their tokens change from day to day, and whoever boots by them would take that for another image.
    if is_new || scheme(&artifacts.initrd) != scheme(&links.initrd) {
        *artifacts = BootArtifacts {
            kernel: links.kernel.clone(),
            rootfs: links.rootfs.clone(),
            initrd: links.initrd.clone(),
            ipxe_script: links.ipxe_script.clone(),
            discovery_ignition_url: links.discovery_ignition.clone(),
        };
    } else if without_token(&artifacts.ipxe_script) != without_token(&links.ipxe_script) {
        artifacts.ipxe_script.clone_from(&links.ipxe_script);
    }
}

fn scheme(url: &str) -> &str {
    url.split_once("://").map_or("", |(scheme, _)| scheme)
}

/// An address without the token that opens it.
fn without_token(url: &str) -> String {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let members = query.split('&').filter(|member| !member.starts_with("api_key="));
    format!("{path}?{}", members.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use assisted_wire::infra_env::InfraEnv;
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    fn infra_env(url: &str, updated: i64) -> InfraEnv {
        let at = Timestamp::new(updated, 123_000_000).unwrap().to_string();
        serde_json::from_value(json!({
            "kind": "InfraEnv", "id": "22222222-2222-4222-8222-222222222222", "href": "", "name": "demo",
            "type": "minimal-iso", "created_at": at, "updated_at": at, "download_url": url,
        }))
        .unwrap()
    }

    fn links(token: &str, scheme: &str) -> Links {
        let at = |name: &str| format!("{scheme}://host/{name}?api_key={token}");
        Links {
            events: at("events"),
            static_network: at("network"),
            kernel: format!("{scheme}://host/kernel"),
            initrd: at("initrd"),
            rootfs: format!("{scheme}://host/rootfs"),
            ipxe_script: at("script"),
            discovery_ignition: at("ignition"),
        }
    }

    fn at(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    fn condition(status: &InfraEnvStatus) -> (&str, &str, &str) {
        let [condition] = status.conditions.as_slice() else { panic!("{:?}", status.conditions) };
        assert_eq!(condition.r#type, "ImageCreated");
        (&condition.status, &condition.reason, &condition.message)
    }

    #[test]
    fn an_image_is_shown_and_shown_again_as_it_was() {
        let (row, first) = (infra_env("http://i/one", 100), links("a", "http"));
        let image = Image::Available { infra_env: &row, links: &first };
        let shown = status(None, "demo", &image, true, &at(7));
        assert_eq!(
            condition(&shown),
            ("True", "InfraEnvAvailable", "InfraEnv is available: Image has been created")
        );
        assert_eq!((shown.iso_download_url.as_str(), &shown.created_time), ("http://i/one", &Some(at(100))));
        let selector = shown.agent_label_selector.clone().unwrap().match_labels.unwrap();
        assert_eq!(selector[label::INFRA_ENV], "demo");
        let artifacts = shown.boot_artifacts.clone().unwrap();
        assert_eq!(artifacts.initrd, "http://host/initrd?api_key=a");

        // Tomorrow's tokens change nothing.
        let other = links("b", "http");
        let image = Image::Available { infra_env: &row, links: &other };
        assert_eq!(status(Some(&shown), "demo", &image, true, &at(8)), shown);

        // Firmware that is spared TLS.
        let plain = links("b", "https");
        let image = Image::Available { infra_env: &row, links: &plain };
        let switched = status(Some(&shown), "demo", &image, true, &at(8)).boot_artifacts.unwrap();
        assert_eq!(switched.initrd, "https://host/initrd?api_key=b");
        assert_eq!(switched.ipxe_script, "https://host/script?api_key=b");

        // Another image.
        let newer = infra_env("http://i/one", 200);
        let image = Image::Available { infra_env: &newer, links: &other };
        let renewed = status(Some(&shown), "demo", &image, true, &at(9));
        assert_eq!(renewed.created_time, Some(at(200)));
        assert_eq!(renewed.debug_info, shown.debug_info, "written once");
        assert_eq!(renewed.boot_artifacts.unwrap().initrd, "http://host/initrd?api_key=b");
    }

    #[test]
    fn what_went_wrong_is_told_and_the_image_withdrawn() {
        let (row, first) = (infra_env("http://i/one", 100), links("a", "http"));
        let shown = status(None, "demo", &Image::Available { infra_env: &row, links: &first }, true, &at(7));
        for (image, expected) in [
            (Image::Refused("no"), ("False", "ImageCreationError", "Failed to create image: no")),
            (
                Image::Failed("away"),
                ("False", "ImageCreationError", "Failed to create image due to an internal error: away"),
            ),
        ] {
            let failed = status(Some(&shown), "demo", &image, true, &at(8));
            assert_eq!(condition(&failed), expected);
            assert_eq!((failed.iso_download_url.as_str(), &failed.created_time), ("", &None));
            assert_eq!(failed.boot_artifacts, shown.boot_artifacts);
            // An image that is being made does not make up for it.
            assert_eq!(status(Some(&failed), "demo", &Image::BeingCreated, true, &at(9)), failed);
        }
        let missing = status(None, "demo", &Image::MissingCluster("none"), true, &at(8));
        assert_eq!(
            condition(&missing),
            ("Unknown", "MissingClusterDeployment", "ClusterDeployment is missing: none")
        );
        let made = status(Some(&missing), "demo", &Image::BeingCreated, true, &at(9));
        assert_eq!(condition(&made), ("True", "ImageCreated", "Image has been created"));
    }

    #[test]
    fn without_an_image_service() {
        let (row, first) = (infra_env("", 100), Links { events: "e".to_owned(), ..Links::default() });
        let shown = status(None, "demo", &Image::Available { infra_env: &row, links: &first }, false, &at(7));
        assert_eq!(condition(&shown), ("True", "InfraEnvAvailable", "InfraEnv is available"));
        assert_eq!((shown.iso_download_url.as_str(), &shown.created_time), ("", &None));
        assert_eq!(shown.boot_artifacts, None);
        let failed = status(None, "demo", &Image::Failed("away"), false, &at(8));
        assert_eq!(failed.conditions, []);
    }
}
