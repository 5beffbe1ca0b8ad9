//! Management controllers of machines, by Redfish (DMTF DSP0266): a machine's power, the medium in its virtual drive, and what
//! it boots next. Nothing here retries: a controller that refuses says why, and its caller decides.

mod access;
mod connection;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod machine;
mod resource;

pub use access::Access;
pub use assisted_base::http::Trust;
pub use error::RedfishError;
pub use machine::{Machine, Power};
