//! Requests for certificates that nodes put into a new cluster: PEM around DER, or DER alone.

use assisted_base::pem;

pub fn run(bytes: &[u8]) {
    assisted_controller::fuzz::certificate_request(bytes);
    let wrapped = pem::write("CERTIFICATE REQUEST", bytes);
    assisted_controller::fuzz::certificate_request(wrapped.as_bytes());
}
