//! What all other crates need and none of them owns.

pub mod error;
pub mod hex;
pub mod pem;
