//! What is served: a base image, and what is laid over it for one infra-env.

mod medium;
mod parts;

pub(crate) use medium::{Artifact, Medium, MediumError, Support};
pub(crate) use parts::{Asked, Parts, PartsError, Product, Step, Workshop};
