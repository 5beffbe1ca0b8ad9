//! What all other crates need and none of them owns.

pub mod failpoint;
pub mod pem;
