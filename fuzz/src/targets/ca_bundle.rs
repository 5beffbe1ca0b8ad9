//! PEM: certificates and keys of users, of mirrors, of clusters.

use assisted_base::pem;
use assisted_core::admission::field::certificate;

use crate::input;

pub fn run(bytes: &[u8]) {
    for block in pem::blocks(bytes).flatten() {
        let written = pem::write(&block.label, &block.content);
        let read: Vec<_> = pem::blocks(written.as_bytes()).flatten().map(|block| block.content).collect();
        assert_eq!(read, [block.content], "what is written is read again");
    }
    if let Ok(certificates) = pem::certificates(bytes) {
        let written = pem::write_certificates(certificates.iter());
        assert_eq!(pem::certificates(written.as_bytes()).ok(), Some(certificates));
    }
    let _ = pem::private_key(bytes);
    let _ = pem::public_key(bytes);
    let _ = pem::identity(bytes);
    if let Ok(written) = certificate::written(bytes) {
        assert_eq!(certificate::bundle(&written), Ok(()), "what is handed on is taken");
    }
    let Some(text) = input::text(bytes) else { return };
    let _ = pem::plain(text);
    let _ = certificate::bundle(text);
    let _ = certificate::encoded(text);
}
