//! Where files are: a folder beside the database, or a bucket of S3.

use std::path::Path;

use anyhow::{Context, Result, bail};
use assisted_base::http::{Trust, authorities_of_file};
use assisted_blob::{Blob, S3};
use assisted_config::{Storage, StorageKind};
use url::Url;

/// Opens the files.
pub(crate) async fn open(settings: &Storage, data_dir: &Path) -> Result<Blob> {
    if is_bucket(settings) {
        let bucket = Blob::bucket(place(settings)?).await;
        return bucket.context("the bucket of files (S3_BUCKET) can't be used; with STORAGE=filesystem they are kept in a folder");
    }
    Blob::open(data_dir.join("files")).await.context("the folder of files can't be used")
}

/// Whether files are kept in a bucket.
fn is_bucket(settings: &Storage) -> bool {
    match settings.kind {
        StorageKind::Unset => !settings.s3_bucket.is_empty(),
        StorageKind::Filesystem => false,
        StorageKind::S3 => true,
    }
}

/// The bucket that the settings name.
pub(crate) fn place(settings: &Storage) -> Result<S3> {
    for (variable, value) in [
        ("S3_BUCKET", settings.s3_bucket.as_str()),
        ("AWS_ACCESS_KEY_ID", settings.s3_access_key.as_str()),
        ("AWS_SECRET_ACCESS_KEY", settings.s3_secret_key.expose()),
    ] {
        if value.is_empty() {
            bail!(
                "files are to be kept in S3, as STORAGE or S3_BUCKET says, and {variable} is not set; with STORAGE=filesystem they are kept in a folder"
            );
        }
    }
    let region = match settings.s3_region.as_str() {
        "" => "us-east-1",
        region => region,
    };
    let trust = match settings.s3_ca_file.as_str() {
        "" => Trust::System,
        file => Trust::Also(authorities_of_file(Path::new(file)).context("S3_CA_FILE can't be used")?),
    };
    Ok(S3 {
        endpoint: endpoint(settings, region)?,
        region: region.to_owned(),
        bucket: settings.s3_bucket.clone(),
        access_key: settings.s3_access_key.clone(),
        secret_key: settings.s3_secret_key.clone(),
        create: settings.create_s3_bucket,
        trust,
    })
}

fn endpoint(settings: &Storage, region: &str) -> Result<Url> {
    let given = settings.s3_endpoint.as_str();
    let text = match given {
        "" => format!("https://s3.{region}.amazonaws.com"),
        given if given.contains("://") => given.to_owned(),
        given if settings.s3_use_ssl => format!("https://{given}"),
        given => format!("http://{given}"),
    };
    Url::parse(&text).with_context(|| format!("S3_ENDPOINT_URL {given:?} is no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_server_is() {
        let of = |given: &str, s3_use_ssl| {
            let settings = Storage { s3_endpoint: given.to_owned(), s3_use_ssl, ..Storage::default() };
            endpoint(&settings, "eu-west-1").map(|url| url.to_string()).ok()
        };
        for (given, tls, expected) in [
            ("", false, "https://s3.eu-west-1.amazonaws.com/"),
            ("minio:9000", false, "http://minio:9000/"),
            ("minio:9000", true, "https://minio:9000/"),
            ("http://minio:9000", true, "http://minio:9000/"),
        ] {
            assert_eq!(of(given, tls).as_deref(), Some(expected), "{given}");
        }
        assert_eq!(of("http://[", false), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut settings = Storage { s3_bucket: "b".to_owned(), ..Storage::default() };
        assert!(is_bucket(&settings));
        assert!(!is_bucket(&Storage { kind: StorageKind::Filesystem, ..settings.clone() }));
        let told = place(&settings).unwrap_err().to_string();
        assert!(told.contains("AWS_ACCESS_KEY_ID is not set"), "{told}");
        (settings.s3_access_key, settings.s3_secret_key) = ("me".to_owned(), "hush".into());
        assert_eq!(place(&settings).unwrap().region, "us-east-1");
    }
}
