//! Tokens of agents, images and providers, and sets of keys. Nobody has the keys: no token is good.

use std::sync::LazyLock;

use assisted_auth::image_token;
use assisted_auth::installer::InstallerTokens;
use assisted_auth::jwks::KeySet;
use assisted_auth::token::{Signer, Verifier};
use assisted_wire::secret::Secret;
use jiff::Timestamp;

use crate::input;

static VERIFIER: LazyLock<Option<Verifier>> = LazyLock::new(|| {
    let signer = Signer::new(&Signer::generate().ok()?).ok()?;
    Verifier::new(&signer.public_key().ok()?).ok()
});

pub fn run(bytes: &[u8]) {
    let _ = KeySet::parse(bytes);
    let Some(text) = input::text(bytes) else { return };
    let now = Timestamp::UNIX_EPOCH;
    if let Some(verifier) = VERIFIER.as_ref() {
        assert!(verifier.grant(text, now).is_err(), "nobody signed it");
    }
    let key = Secret::from("a key that stands in no input of this corpus");
    assert!(!image_token::is_good(&key, text, now), "nobody signed it");
    let _ = image_token::named(text);
    let _ = InstallerTokens::new(text);
    let _ = Verifier::new(text);
    let _ = Signer::new(&text.into());
}
