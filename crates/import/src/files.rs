//! Files: the keys are the same here, but for what says whose a manifest is (running §8.3).

use std::collections::BTreeSet;
use std::iter;

use assisted_blob::{Blob, Key};

use crate::error::Error;
use crate::report::{Kind, Report};

/// What tells whose a manifest is, as an attribute of its file.
const SOURCE: &str = "assisted-installer-manifest-source";
const USER: &str = "user";

/// What stands between a file's key and the name of an attribute, where a file stands in for it.
const BESIDE: &str = "@@user.";

/// Files are at most as long as a log may be here, several times over.
const LONGEST: u64 = 8 << 30;

/// Where the files of the replaced service are, and where they go.
pub(crate) struct Files<'a> {
    pub(crate) from: &'a Blob,
    pub(crate) to: &'a Blob,
    /// Every key there.
    keys: BTreeSet<Key>,
    /// Folders of buckets with files that stand in for attributes.
    buckets: BTreeSet<String>,
}

impl<'a> Files<'a> {
    pub(crate) async fn new(from: &'a Blob, to: &'a Blob) -> Result<Self, Error> {
        let keys = from.all().await.map_err(Error::Source)?.into_iter().map(|(key, _)| key);
        let keys: BTreeSet<Key> = keys.collect();
        let beside = format!("{BESIDE}{SOURCE}");
        let noted = keys.iter().filter(|key| key.as_str().ends_with(&beside));
        let buckets = noted.filter_map(|key| {
            let (bucket, rest) = key.as_str().split_once('/')?;
            rest.starts_with("metadata/").then(|| bucket.to_owned())
        });
        let buckets = buckets.collect();
        Ok(Self { from, to, keys, buckets })
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        Key::new(key).is_ok_and(|key| self.keys.contains(&key))
    }

    /// Copies what stands below a folder; what is here already stays as it is.
    pub(crate) async fn copy(&self, folder: &str, report: &mut Report) -> Result<(), Error> {
        let prefix = format!("{folder}/");
        let below = self.keys.iter().filter(|key| key.as_str().starts_with(&prefix) && is_whole(key));
        for key in below {
            if self.to.exists(key).await? {
                report.there(Kind::Files, 1);
                continue;
            }
            // The mark first: a mark without a manifest is nothing, a manifest without one would be taken for the system's.
            if let Some(mark) = self.mark(key).await? {
                self.to.put(&mark, "").await?;
            }
            match self.one(key).await {
                Ok(()) => report.taken(Kind::Files, 1),
                Err(Error::Source(error)) => report.left(Kind::Files, key.as_str(), error.to_string()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn one(&self, key: &Key) -> Result<(), Error> {
        let (_, content) = self.from.stream(key, None).await.map_err(Error::Source)?;
        self.to.put_stream(key, content, LONGEST).await?;
        Ok(())
    }

    /// The file that marks a manifest as a user's here, if it is one.
    async fn mark(&self, key: &Key) -> Result<Option<Key>, Error> {
        let Some((cluster, path)) = key.as_str().split_once("/manifests/") else { return Ok(None) };
        let mark = Key::new(format!("{cluster}/manifest-attributes/{path}/user-supplied"));
        let Ok(mark) = mark else { return Ok(None) };
        let source = match self.from.attribute(key, SOURCE).await.map_err(Error::Source)? {
            Some(source) => Some(source),
            None => self.noted_beside(key).await?,
        };
        // An old mark counts where nothing else is said; it is copied like any other file.
        Ok(source.is_some_and(|source| source == USER).then_some(mark))
    }

    /// What a file beside it says, which stands in for an attribute where the file system has none.
    async fn noted_beside(&self, key: &Key) -> Result<Option<String>, Error> {
        let Some(beside) = self.beside(key) else { return Ok(None) };
        let content = self.from.get(&beside, 64).await.map_err(Error::Source)?;
        Ok(Some(String::from_utf8_lossy(&content).trim().to_owned()))
    }

    fn beside(&self, key: &Key) -> Option<Key> {
        let plain = format!("metadata/{key}{BESIDE}{SOURCE}");
        let in_buckets = self.buckets.iter().filter_map(|bucket| beside_in_bucket(bucket, key.as_str()));
        let mut all = iter::once(plain).chain(in_buckets).filter_map(|beside| Key::new(beside).ok());
        all.find(|beside| self.keys.contains(beside))
    }
}

/// The file that stands in for an attribute where `S3_BUCKET` was set: in the folder of the bucket, and named by the file's key
/// without as many characters at its beginning as the bucket's name has (running §8.3).
fn beside_in_bucket(bucket: &str, key: &str) -> Option<String> {
    let rest = key.get(bucket.len()..)?.trim_start_matches('/');
    Some(format!("{bucket}/metadata/{rest}{BESIDE}{SOURCE}"))
}

/// Whether it is no hidden file of a write that was interrupted.
fn is_whole(key: &Key) -> bool {
    !key.name().starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_bucket_cuts_the_beginning_of_a_key() {
        let key = "10000000-0000-4000-8000-000000000007/manifests/openshift/named.yaml";
        let beside = |bucket: &str| beside_in_bucket(bucket, key);
        let in_bucket = |bucket: &str, rest: &str| {
            Some(format!("{bucket}/metadata/{rest}@@user.assisted-installer-manifest-source"))
        };
        let short = "0000-0000-4000-8000-000000000007/manifests/openshift/named.yaml";
        assert_eq!(beside("test"), in_bucket("test", short));
        // As long as the cluster's id: what is left begins with a slash, which a path does not double.
        let long = "b".repeat(36);
        assert_eq!(beside(&long), in_bucket(&long, "manifests/openshift/named.yaml"));
        let longest = "b".repeat(63);
        assert_eq!(beside(&longest), in_bucket(&longest, &key[63..]));
        assert_eq!(beside_in_bucket(&longest, "short"), None);
    }
}
