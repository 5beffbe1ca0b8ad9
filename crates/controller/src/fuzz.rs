//! A way in for the fuzz targets (`fuzz/`) to what reads requests for certificates. Nothing else calls this.

/// Reads a request for a certificate; whether it can be understood.
pub fn certificate_request(text: &[u8]) -> bool {
    crate::csr::request::Request::read(text).is_ok()
}
