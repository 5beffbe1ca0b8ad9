//! Requests for certificates that nodes put into a new cluster: PEM around DER, or DER alone.

use assisted_base::pem;
use assisted_kube::csr::request::Request;

pub fn run(bytes: &[u8]) {
    let _ = Request::read(bytes);
    let wrapped = pem::write("CERTIFICATE REQUEST", bytes);
    let _ = Request::read(wrapped.as_bytes());
}
