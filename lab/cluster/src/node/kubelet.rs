//! What a kubelet serves and an installation asks for: the logs of its pods, to the API and nobody else.

use anyhow::Result;
use axum::Router;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncSeekExt;

use crate::cluster::NODE;
use crate::control_plane::names;
use crate::files;
use crate::pki::Pair;
use crate::program::log_path;

pub const PORT: u16 = 10250;
/// Most that one answer holds, in bytes: the end of the log.
const LONGEST: u64 = 16 << 20;

#[derive(Default)]
struct Wish {
    limit_bytes: Option<u64>,
    tail_lines: Option<usize>,
}

impl Wish {
    fn read(query: &str) -> Self {
        let mut wish = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "limitBytes" => wish.limit_bytes = value.parse().ok(),
                "tailLines" => wish.tail_lines = value.parse().ok(),
                _ => {}
            }
        }
        wish
    }
}

/// Serves until it is dropped.
pub async fn serve(own: Pair) -> Result<()> {
    let clients = files::text(std::path::Path::new(NODE).join(format!("{}.crt", names::CLIENTS)))?;
    let routes = Router::new()
        .route("/containerLogs/{namespace}/{pod}/{container}", get(log))
        .route("/healthz", get(async || "ok"));
    crate::server::serve(PORT, &own, Some(&clients), routes).await
}

/// Who else has a certificate of a client may see the logs too: they hold no secrets, and the lab no strangers.
async fn log(
    Path((_, pod, container)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
    if !plain(&pod) || !plain(&container) || pod.starts_with('.') {
        return StatusCode::BAD_REQUEST.into_response();
    }
    let name = if container == crate::machine_config::LOG { container } else { pod };
    match read(&name, &Wish::read(&query.unwrap_or_default())).await {
        Ok(text) => text.into_response(),
        Err(error) => (StatusCode::NOT_FOUND, error.to_string()).into_response(),
    }
}

async fn read(name: &str, wish: &Wish) -> std::io::Result<Vec<u8>> {
    let mut file = tokio::fs::File::open(log_path(name)).await?;
    let length = file.metadata().await?.len();
    let limit = wish.limit_bytes.unwrap_or(LONGEST).min(LONGEST);
    file.seek(std::io::SeekFrom::Start(length.saturating_sub(limit))).await?;
    let mut text = Vec::new();
    file.take(limit).read_to_end(&mut text).await?;
    if let Some(lines) = wish.tail_lines {
        let mut starts = text.iter().enumerate().rev().skip(1).filter(|(_, byte)| **byte == b'\n');
        let start = lines.checked_sub(1).and_then(|skip| starts.nth(skip)).map_or(0, |(at, _)| at + 1);
        text.drain(..start);
    }
    Ok(text)
}
