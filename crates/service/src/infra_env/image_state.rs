//! Whether an infra-env's discovery image can be downloaded: the image service is asked for its first byte, as a browser
//! would ask for all of it. One that fetches base images when they are asked for begins with that.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use assisted_base::error::chain;
use assisted_base::http::{Proxies, Trust, authorities_of_file, builder, read, web_url};
use assisted_config::Http;
use assisted_wire::id::InfraEnvId;
use assisted_wire::image_state::{ImageReadiness, ImageState};
use reqwest::header::{RANGE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};
use serde::Deserialize;

use super::InfraEnvs;
use crate::{Caller, Error};

/// How long the image service may take: it waits for a free place at most 20 s itself.
const LIMIT: Duration = Duration::from_secs(25);

/// Longest list of base images that is read, in bytes.
const LONGEST: usize = 1 << 20;

/// Longest text of the image service that is shown, in letters.
const LONGEST_TEXT: usize = 500;

/// Seconds between two questions, where the image service names none.
const RETRY: i64 = 5;

/// Asks the image service. Its client is made when it is first needed: most services never ask.
#[derive(Default)]
pub(super) struct ImageProbe(OnceLock<Client>);

/// A base image in the image service's list.
#[derive(Deserialize)]
struct BaseImage {
    openshift_version: String,
    cpu_architecture: String,
    received_bytes: i64,
    total_bytes: Option<i64>,
    /// Why it could not be fetched the last time.
    error: Option<String>,
}

impl InfraEnvs {
    /// Whether the image can be downloaded now.
    ///
    /// # Errors
    ///
    /// 404 when there is no such infra-env, 400 without an image service.
    pub async fn get_image_state(
        &self,
        caller: &Caller,
        infra_env_id: InfraEnvId,
    ) -> Result<ImageState, Error> {
        let url = self.get_download_url(caller, infra_env_id).await?.url;
        let asked = async {
            let url = web_url(&url).map_err(|error| error.to_string())?;
            self.images.ask(&self.settings.http, url).await
        };
        let unknown = |why: String| ImageState {
            message: format!("the image service can't be asked: {why}"),
            ..state(ImageReadiness::Unknown)
        };
        Ok(asked.await.unwrap_or_else(unknown))
    }
}

impl ImageProbe {
    async fn ask(&self, settings: &Http, url: Url) -> Result<ImageState, String> {
        let client = self.client(settings)?;
        let base = list_url(&url, &settings.image_service_base_url);
        let image = image_of(&url);
        let request = client.get(url).header(RANGE, "bytes=0-0").timeout(LIMIT);
        // The address opens the image: it stands in no message.
        let answer = request.send().await.map_err(|error| chain(&error.without_url()))?;
        let status = answer.status();
        let mut state = match status {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT => return Ok(state(ImageReadiness::Ready)),
            // Whoever only has to wait is told for how long.
            StatusCode::SERVICE_UNAVAILABLE if answer.headers().contains_key(RETRY_AFTER) => ImageState {
                retry_after_seconds: Some(retry_after(&answer)),
                message: text(answer).await,
                ..state(ImageReadiness::Waiting)
            },
            _ => {
                let said = text(answer).await;
                let said = if said.is_empty() { "the log of the service tells why" } else { &said };
                ImageState {
                    message: format!("the image service answers {status}: {said}"),
                    ..state(ImageReadiness::Failed)
                }
            }
        };
        if let Some(found) = base_image(client, base, image).await {
            state.received_bytes = Some(found.received_bytes);
            state.total_bytes = found.total_bytes;
            state.error = found.error.map(|why| shortened(&why));
        }
        Ok(state)
    }

    /// The client; it trusts what hosts are told to trust, and the certificate of this process, beside the system's.
    fn client(&self, settings: &Http) -> Result<&Client, String> {
        if let Some(client) = self.0.get() {
            return Ok(client);
        }
        let mut trusted = Vec::new();
        for file in [&settings.service_ca_cert_path, &settings.https_cert_file] {
            if !file.is_empty() {
                trusted.extend(authorities_of_file(Path::new(file)).map_err(|error| chain(&error))?);
            }
        }
        let made = builder("assisted", Trust::Also(trusted), &Proxies::FromEnvironment)
            .and_then(reqwest::ClientBuilder::build)
            .map_err(|error| chain(&error))?;
        Ok(self.0.get_or_init(|| made))
    }
}

fn state(state: ImageReadiness) -> ImageState {
    ImageState {
        state,
        message: String::new(),
        error: None,
        received_bytes: None,
        total_bytes: None,
        retry_after_seconds: None,
    }
}

/// Version and architecture in an image's address, which ends with them and the name of the file.
fn image_of(url: &Url) -> Option<(String, String)> {
    let mut segments = url.path_segments()?.rev().skip(1);
    let architecture = segments.next()?.to_owned();
    Some((segments.next()?.to_owned(), architecture))
}

/// Where the image service lists its base images.
fn list_url(image: &Url, base: &str) -> Url {
    let path =
        Url::parse(base).ok().map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
    let mut url = image.clone();
    url.set_query(None);
    url.set_path(&format!("{path}/base-images"));
    url
}

/// What the list says of a base image; none when the image service has no such list.
async fn base_image(client: &Client, list: Url, image: Option<(String, String)>) -> Option<BaseImage> {
    let (version, architecture) = image?;
    let mut answer = client.get(list).timeout(LIMIT).send().await.ok()?;
    let text = read(&mut answer, LONGEST).await.ok()?;
    let images: Vec<BaseImage> = serde_json::from_slice(&text).ok()?;
    images.into_iter().find(|base| base.openshift_version == version && base.cpu_architecture == architecture)
}

fn retry_after(answer: &Response) -> i64 {
    let seconds = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    seconds.unwrap_or(RETRY)
}

/// The text of an answer, shortened.
async fn text(mut answer: Response) -> String {
    let body = read(&mut answer, LONGEST).await.unwrap_or_default();
    shortened(&String::from_utf8_lossy(&body))
}

fn shortened(text: &str) -> String {
    text.trim().chars().take(LONGEST_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_which_base_image_it_needs() {
        let url = Url::parse("https://images:8888/prefix/byid/x/4.20/x86_64/full.iso?a=b").unwrap();
        assert_eq!(image_of(&url), Some(("4.20".to_owned(), "x86_64".to_owned())));
        let list = list_url(&url, "https://images:8888/prefix/");
        assert_eq!(list.as_str(), "https://images:8888/prefix/base-images");
        let list = list_url(&url, "https://images:8888");
        assert_eq!(list.as_str(), "https://images:8888/base-images");
    }
}
