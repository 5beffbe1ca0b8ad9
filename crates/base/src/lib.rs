//! What all other crates need and none of them owns.

pub mod pem;
