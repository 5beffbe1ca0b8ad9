//! The cluster's own logs, gathered by OpenShift's client.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::time::Duration;

use tracing::info;

use super::archive;
use crate::context::Context;
use crate::oc::{self, OcError};

const ARCHIVE: &str = "must-gather.tar.gz";
/// The image for what goes wrong in general, among those by operator.
const GENERAL: &str = "ocp";
/// How long it may take.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Why the cluster's logs could not be gathered.
#[derive(Debug, thiserror::Error)]
pub(super) enum GatherError {
    #[error(transparent)]
    Client(#[from] OcError),
    #[error("{} can't be written", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("the archive was not finished")]
    Task(#[from] tokio::task::JoinError),
}

/// Gathers them into an archive; one that an earlier attempt made is used again.
pub(super) async fn gather(context: &Context) -> Result<PathBuf, GatherError> {
    let dir = &context.config.paths.must_gather;
    let made = dir.join(ARCHIVE);
    if made.is_file() {
        return Ok(made);
    }
    let folder = dir.join("must-gather");
    let fresh = || {
        if dir.exists() {
            fs::remove_dir_all(dir)?;
        }
        DirBuilder::new().mode(0o700).recursive(true).create(dir)
    };
    fresh().map_err(|source| GatherError::Write { path: dir.clone(), source })?;
    let degraded = &context.degraded;
    let images = images(&context.config.must_gather_image, degraded.is_installation(), &degraded.operators());
    info!(?images, "gathering the cluster's logs");
    oc::run(context, |oc| {
        oc.args(["adm", "must-gather", "--dest-dir"])
            .arg(&folder)
            .args(images.iter().map(|image| format!("--image={image}")))
            .timeout(LIMIT)
            .cut_output()
    })
    .await?;
    let target = made.clone();
    let packed = tokio::task::spawn_blocking(move || {
        // What is not whole must not be taken for it.
        let part = target.with_extension("part");
        archive::pack_folder(&part, &folder)?;
        fs::rename(part, target)
    });
    packed.await?.map_err(|source| GatherError::Write { path: made.clone(), source })?;
    Ok(made)
}

/// The images that gather: none for the release's own, the one that is set, or those of what went wrong.
fn images(setting: &str, general: bool, operators: &BTreeSet<String>) -> Vec<String> {
    if setting.is_empty() {
        return Vec::new();
    }
    let Ok(by_operator) = serde_json::from_str::<BTreeMap<String, String>>(setting) else {
        return vec![setting.to_owned()];
    };
    let wanted = general.then_some(GENERAL).into_iter().chain(operators.iter().map(String::as_str));
    wanted.filter_map(|name| by_operator.get(name).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_what_went_wrong() {
        let operators: BTreeSet<_> = ["lvm", "unknown"].map(str::to_owned).into();
        let map = r#"{"ocp":"general","lvm":"lvm-image","odf":"odf-image"}"#;
        assert_eq!(images("", true, &operators), [""; 0]);
        assert_eq!(images("one/image", true, &operators), ["one/image"]);
        assert_eq!(images(map, true, &operators), ["general", "lvm-image"]);
        assert_eq!(images(map, false, &operators), ["lvm-image"]);
    }
}
