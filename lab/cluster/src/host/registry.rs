//! Images out of a registry that takes and gives them over plain HTTP.

use std::io::Read;

use anyhow::{Context, Result, bail};
use assisted_base::hex;
use flate2::read::GzDecoder;
use reqwest::Client;
use serde::Deserialize;
use sha2::{Digest, Sha256};

const TYPES: &str =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";
/// Most that is fetched of an image, in bytes.
const LONGEST: u64 = 4 << 30;
/// Longest layer that a file is looked for in, in bytes.
const LONGEST_LAYER: u64 = 64 << 20;

#[derive(Deserialize)]
struct Manifest {
    config: Part,
    layers: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    digest: String,
    size: u64,
}

/// The text of a file in an image, by its path there.
pub async fn file(image: &str, path: &str) -> Result<String> {
    let (base, reference) = place(image)?;
    let client = Client::new();
    let get = client.get(format!("{base}/manifests/{reference}")).header(reqwest::header::ACCEPT, TYPES);
    let manifest: Manifest = get.send().await?.error_for_status()?.json().await?;
    for part in manifest.layers.iter().rev().filter(|part| part.size <= LONGEST_LAYER) {
        let answer = client.get(format!("{base}/blobs/{}", part.digest)).send().await?.error_for_status()?;
        let bytes = answer.bytes().await?;
        let mut archive = tar::Archive::new(GzDecoder::new(&bytes[..]).take(LONGEST_LAYER));
        for entry in archive.entries()? {
            let mut entry = entry?;
            if entry.path()?.as_os_str() == path {
                let mut text = String::new();
                entry.read_to_string(&mut text)?;
                return Ok(text);
            }
        }
    }
    bail!("{image} has no {path}")
}

/// Where an image's parts are, and which image it is.
fn place(image: &str) -> Result<(String, &str)> {
    let (registry, path) = image.split_once('/').context("an image without a registry")?;
    let (name, reference) = match path.split_once('@') {
        Some(parts) => parts,
        None => path.rsplit_once(':').unwrap_or((path, "latest")),
    };
    Ok((format!("http://{registry}/v2/{name}"), reference))
}

/// Fetches an image, and proves each part of it; gives its bytes.
pub async fn fetch(image: &str) -> Result<u64> {
    let (base, reference) = place(image)?;
    let client = Client::new();
    let get = client.get(format!("{base}/manifests/{reference}")).header(reqwest::header::ACCEPT, TYPES);
    let manifest: Manifest = get.send().await?.error_for_status()?.json().await?;
    let parts = manifest.layers.iter().chain([&manifest.config]);
    if parts.clone().map(|part| part.size).fold(0, u64::saturating_add) > LONGEST {
        bail!("it is longer than {LONGEST} bytes");
    }
    let mut bytes = 0;
    for part in parts {
        let mut answer =
            client.get(format!("{base}/blobs/{}", part.digest)).send().await?.error_for_status()?;
        let mut digest = Sha256::new();
        while let Some(piece) = answer.chunk().await? {
            bytes += piece.len() as u64;
            digest.update(&piece);
        }
        if format!("sha256:{}", hex::encode(&digest.finalize())) != part.digest {
            bail!("{} is something else", part.digest);
        }
    }
    Ok(bytes)
}
