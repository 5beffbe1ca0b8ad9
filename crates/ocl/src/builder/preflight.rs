//! What can be known before an hour of building: whether all images are to be had, whether the result can be pushed, whether the clock
//! is sane (ocl-day1 §B5.2, V19).

use std::time::Duration;

use assisted_release::error::RegistryError;
use assisted_release::registry::Session;
use assisted_release::{Digest, PullError, Reference};
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

fn late(what: &str) -> Failed {
    failed(format!("{what}: no answer within {} seconds", LIMIT.as_secs()))
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
        let found = found.map_err(|_| late(image))?;
        found.map_err(|error: PullError| of_registry(image, &error.cause, &error.to_string()))?;
    }
    Ok(())
}

/// Whether an image can be pushed, and read back by digest: an upload is begun, and given up; then a manifest is asked for that is not there.
/// That comes second, because some registries make a repository by the first upload.
pub(crate) async fn push(session: &Session, repository: &str) -> Result<(), Failed> {
    let name: Reference = repository.parse().map_err(|error| {
        Failed::for_good(LayeringErrorCode::Preflight, format!("{repository} names no repository: {error}"))
    })?;
    let refused = |what: &str, error: &RegistryError| {
        of_registry(&format!("an image can't be {what} {repository}"), error, &error.to_string())
    };
    let tried = tokio::time::timeout(LIMIT, session.try_upload(&name.repository)).await;
    let tried = tried.map_err(|_| late(repository))?;
    tried.map_err(|error| refused("pushed to", &error))?;
    // No manifest has the digest of nothing.
    let absent = Reference::pinned(name.repository, Digest::of(b""));
    let read = tokio::time::timeout(LIMIT, session.describe(&absent)).await;
    match read.map_err(|_| late(repository))? {
        Err(error) if !is_absent(&error.cause) => Err(refused("read back from", &error.cause)),
        _ => Ok(()),
    }
}

/// Whether a registry has answered that it has no such image; it is asked itself after its mirrors.
fn is_absent(error: &RegistryError) -> bool {
    match error {
        RegistryError::NoImage => true,
        RegistryError::Everywhere(all) => all.last().is_some_and(|error| is_absent(&error.cause)),
        _ => false,
    }
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
    use assisted_base::process::Tools;
    use assisted_release::PullSecret;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::builder::{Machine, verify};
    use crate::config::Proxy;

    /// A registry that takes uploads, and answers with this status whoever reads: a real one whose rights differ so needs a server of tokens.
    async fn serve(listener: &TcpListener, status: &str) {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..length]);
            let words: Vec<_> = request.split_whitespace().collect();
            let answer = match words[..] {
                ["GET", "/v2/", ..] => "200 OK",
                ["POST", "/v2/acme/os/blobs/uploads/", ..] => "202 Accepted",
                ["GET", path, ..] if path.starts_with("/v2/acme/os/manifests/sha256:") => status,
                // A client that tries TLS first.
                _ => continue,
            };
            let answer = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    }

    #[tokio::test]
    async fn what_is_pushed_can_be_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path(), Tools::default());
        for (status, told) in [
            ("404 Not Found", None),
            ("401 Unauthorized", Some("can't be read back")),
            ("403 Forbidden", Some("can't be read back")),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let registry = listener.local_addr().unwrap();
            let plain = format!("[[registry]]\nlocation = \"{registry}\"\ninsecure = true\n");
            machine.write("/etc/containers/registries.conf", 0o644, plain).unwrap();
            let session =
                verify::session(&machine, &Proxy::default(), Vec::new(), PullSecret::default()).unwrap();
            let repository = format!("{registry}/acme/os");
            let tried = tokio::select! {
                tried = push(&session, &repository) => tried,
                () = serve(&listener, status) => unreachable!(),
            };
            match told {
                None => assert_eq!(tried, Ok(()), "{status}"),
                Some(told) => {
                    let failed = tried.unwrap_err();
                    assert!(failed.reason.contains(told) && !failed.retriable, "{status}: {failed}");
                }
            }
        }
    }

    #[test]
    fn a_mirror_may_lack_what_is_not_pushed_yet() {
        let place =
            |cause| PullError { reference: Box::new("registry.example.com/a/b:c".parse().unwrap()), cause };
        let all = |causes: [RegistryError; 2]| RegistryError::Everywhere(causes.map(place).into());
        assert!(is_absent(&all([RegistryError::Unreachable("x".into()), RegistryError::NoImage])));
        assert!(!is_absent(&all([RegistryError::NoImage, RegistryError::Forbidden])));
    }

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
