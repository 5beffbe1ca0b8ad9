//! Image mode at installation (on-cluster layering): the images of a cluster's nodes are built while it is installed, and each
//! node's first start from its disk is in its image (ocl-day1).

pub mod builder;
pub mod config;
pub mod paths;
pub mod service;
pub mod status;
