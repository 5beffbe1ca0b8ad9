//! Discovery images over HTTP: each is a cached base image with an infra-env's Ignition config, kernel arguments and network
//! laid over it, streamed without being copied or unpacked anywhere.
//!
//! Inside `assisted serve`, or alone (`assisted image-service`), in front of this project's API service or of any other that
//! speaks REST v2.

mod api;
mod base;
mod catalog;
mod credential;
#[doc(hidden)]
pub mod fuzz;
mod http;
mod image;
mod images;
mod metrics;
mod places;
mod route;
pub mod server;
mod token;

pub use api::{ApiAddress, ApiError};
pub use base::{FetchOptions, Probe, StoreError};
pub use catalog::{Catalog, CatalogError, OsImage};
pub use images::{Background, Images, Options, StartError};

/// The user agent of requests.
const USER_AGENT: &str = concat!("assisted-image-service/", env!("CARGO_PKG_VERSION"));
