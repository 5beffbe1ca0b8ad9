//! A machine boots the image of its InfraEnv (kube-api §6.6.6).

use assisted_crd::condition::find;
use assisted_crd::labels::annotation;
use assisted_crd::metal3::bare_metal_host::{BareMetalHost, CustomDeploy, Image};
use assisted_crd::metal3::preprovisioning_image::PreprovisioningImage;
use kube::ResourceExt;

use super::{Flow, Observed, Step, state};

/// States of a machine in which metal3 takes an image.
const TAKES_IMAGE: &[&str] = &["ready", "available"];
/// By this the agent of Ironic starts the agent of the service.
const START: &str = "start_assisted_install";

pub(super) fn boot(host: &mut BareMetalHost, seen: &Observed<'_>) -> Step {
    if seen.infra_env.is_none() {
        return Step::Stop;
    }
    if host.annotations().contains_key(annotation::BMH_DETACHED) {
        return Step::Continue;
    }
    match seen.flow {
        Flow::VirtualMedia => as_virtual_media(host, seen),
        Flow::Converged { image } => by_custom_deploy(host, image),
    }
}

/// metal3 has the machine installed, once it can inspect it with the image of the InfraEnv and no other.
fn by_custom_deploy(host: &mut BareMetalHost, image: Option<&PreprovisioningImage>) -> Step {
    if host.spec.custom_deploy.as_ref().is_some_and(|deploy| deploy.method == START) {
        return Step::Continue;
    }
    if !image.is_some_and(is_own) {
        return Step::Stop;
    }
    host.spec.custom_deploy = Some(CustomDeploy { method: START.to_owned() });
    Step::Continue
}

/// Whether an image that metal3 was shown is that of an InfraEnv; metal3 has one of its own.
fn is_own(image: &PreprovisioningImage) -> bool {
    let conditions = image.status.iter().flat_map(|status| &status.conditions);
    find(conditions, "Ready")
        .is_some_and(|ready| ready.status == "True" && ready.reason == "InfraEnvAvailable")
}

fn as_virtual_media(host: &mut BareMetalHost, seen: &Observed<'_>) -> Step {
    let annotations = host.metadata.annotations.get_or_insert_default();
    annotations.entry(annotation::INSPECT.to_owned()).or_insert_with(|| "disabled".to_owned());
    "disabled".clone_into(&mut host.spec.automated_cleaning_mode);
    let status = seen.infra_env.and_then(|infra_env| infra_env.status.as_ref());
    let Some(status) = status.filter(|status| !status.iso_download_url.is_empty()) else {
        return Step::Stop;
    };
    let url = &status.iso_download_url;
    if host.spec.image.as_ref().is_some_and(|image| image.url == *url) {
        return Step::Continue;
    }
    let rested = status.created_time.as_ref().and_then(|made| made.0.checked_add(seen.cool_down).ok());
    if let Some(rested) = rested.filter(|rested| *rested > seen.now) {
        return Step::Again(rested);
    }
    if TAKES_IMAGE.contains(&state(host)) {
        host.spec.image = Some(Image { url: url.clone(), format: "live-iso".to_owned(), ..Image::default() });
        host.spec.online = true;
    } else {
        // metal3 takes the old image away first, and fetches the new one then.
        host.spec.image = None;
    }
    Step::Stop
}
