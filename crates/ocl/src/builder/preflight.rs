//! What can be known before an hour of building: whether all images are to be had, whether the result can be pushed, whether the clock
//! is sane (ocl-day1 §B5.2, V19).

use std::time::Duration;

use assisted_release::error::RegistryError;
use assisted_release::registry::Session;
use assisted_release::{PullError, Reference};
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::on_cluster_layering::LayeringErrorCode;
use jiff::Timestamp;

use super::Failed;

/// No release of this program is older, in seconds since the epoch: 2025-01-01.
const EARLIEST: i64 = 1_735_689_600;
const LIMIT: Duration = Duration::from_secs(120);

fn failed(reason: impl Into<String>) -> Failed {
    Failed::new(LayeringErrorCode::Preflight, reason)
}

/// A refusal stays one, and a name that leads nowhere does; the network may come back.
fn of_registry(what: &str, error: &RegistryError, told: &str) -> Failed {
    let reason = format!("{what}: {told}");
    match passes(error) {
        true => failed(reason),
        false => Failed::for_good(LayeringErrorCode::Preflight, reason),
    }
}

/// Whether another attempt may end better.
fn passes(error: &RegistryError) -> bool {
    match error {
        RegistryError::Unreachable(_) | RegistryError::Throttled(_) | RegistryError::Server(_) => true,
        RegistryError::Everywhere(all) => all.iter().any(|error| passes(&error.cause)),
        _ => false,
    }
}

/// Whether each image can be read.
pub(crate) async fn images(
    session: &Session,
    images: &[String],
    arch: CpuArchitecture,
) -> Result<(), Failed> {
    for image in images {
        let name: Reference = image.parse().map_err(|error| {
            Failed::for_good(LayeringErrorCode::Preflight, format!("{image} names no image: {error}"))
        })?;
        let found = tokio::time::timeout(LIMIT, session.image(&name, arch)).await;
        let found =
            found.map_err(|_| failed(format!("{image}: no answer within {} seconds", LIMIT.as_secs())))?;
        found.map_err(|error: PullError| of_registry(image, &error.cause, &error.to_string()))?;
    }
    Ok(())
}

/// Whether an image can be pushed: an upload is begun, and given up; and whether it can be read back by digest.
pub(crate) async fn push(session: &Session, repository: &str) -> Result<(), Failed> {
    let name: Reference = repository.parse().map_err(|error| {
        Failed::for_good(LayeringErrorCode::Preflight, format!("{repository} names no repository: {error}"))
    })?;
    let tried = tokio::time::timeout(LIMIT, session.try_upload(&name.repository)).await;
    let tried =
        tried.map_err(|_| failed(format!("{repository}: no answer within {} seconds", LIMIT.as_secs())))?;
    tried.map_err(|error| {
        of_registry(&format!("an image can't be pushed to {repository}"), &error, &error.to_string())
    })
}

/// A clock that is years behind makes every certificate one of the future.
pub(crate) fn clock(now: Timestamp) -> Result<(), Failed> {
    if now.as_second() < EARLIEST {
        return Err(failed(format!("this machine's clock says {now}: set it, or give it time sources")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_tried_again() {
        let place =
            |cause| PullError { reference: Box::new("registry.example.com/a/b:c".parse().unwrap()), cause };
        for (error, retriable) in [
            (RegistryError::Unreachable("x".into()), true),
            (RegistryError::Server(502), true),
            (RegistryError::NoImage, false),
            (RegistryError::Forbidden, false),
            (RegistryError::Credentials(None), false),
            (
                RegistryError::Everywhere(vec![
                    place(RegistryError::NoImage),
                    place(RegistryError::Server(500)),
                ]),
                true,
            ),
            (RegistryError::Everywhere(vec![place(RegistryError::NoImage)]), false),
        ] {
            assert_eq!(of_registry("x", &error, "y").retriable, retriable, "{error}");
        }
        assert!(clock(Timestamp::UNIX_EPOCH).is_err());
        assert!(clock(Timestamp::now()).is_ok());
    }
}
