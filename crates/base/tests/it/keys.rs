//! Keys and requests in many shapes, each given to `openssl` too.

use assisted_base::pem::{PemError, certificate_request, identity, private_key, public_key, write};
use rustls_pki_types::PrivateKeyDer;

use crate::openssl::{Material, letters, wrapped};

/// What the program makes of a key that we read and wrote.
fn public_of_ours(material: &Material, key: &PrivateKeyDer<'_>) -> Option<Vec<u8>> {
    material.public_of(write("PRIVATE KEY", key.secret_der()).as_bytes())
}

#[test]
fn private_keys() {
    let material = Material::new();
    let key = material.text("one.key");
    material.make("ec -in one.key -out sec1");
    material.make("ecparam -name prime256v1 -out params");
    material.make("genrsa -traditional -out pkcs1 2048");
    material.make("genpkey -algorithm ed25519 -out ed");
    let (sec1, params) = (material.text("sec1"), material.text("params"));
    let letters = letters(&key);
    for (name, text) in [
        ("PKCS #8", key.clone()),
        ("SEC 1", sec1.clone()),
        ("PKCS #1", material.text("pkcs1")),
        ("Ed25519", material.text("ed")),
        ("one line", wrapped("PRIVATE KEY", &letters, usize::MAX, "", "")),
        ("columns of 76 in CRLF", wrapped("PRIVATE KEY", &letters, 76, "", "\r")),
        ("one column", wrapped("PRIVATE KEY", &letters, 1, " ", " ")),
        ("no line end at the end", key.trim_end().to_owned()),
        ("parameters first", format!("{params}{sec1}")),
        ("a certificate first", format!("{}{key}", material.text("one.crt"))),
        ("text first", format!("Bag Attributes\n  x: y\nKey Attributes: <No Attributes>\n{key}")),
        ("another label", sec1.replace("EC PRIVATE", "PRIVATE")),
        ("the other label", key.replace("PRIVATE", "EC PRIVATE")),
        ("two", format!("{key}{}", material.text("two.key"))),
        ("a broken one behind", format!("{key}{}", &key[..80])),
    ] {
        let expected = material.public_of(text.as_bytes());
        assert!(expected.is_some(), "{name}: openssl refuses it");
        let ours = private_key(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(public_of_ours(&material, &ours), expected, "{name}");
    }
}

#[test]
fn private_keys_that_can_not_be_used() {
    let material = Material::new();
    material.make("ec -in one.key -aes128 -passout pass:secret -out headed");
    material.make("pkcs8 -topk8 -in one.key -passout pass:secret -out sealed");
    let key = material.text("one.key");
    for (name, text, expected) in [
        ("encrypted by its head", material.text("headed"), PemError::Encrypted),
        ("encrypted by its label", material.text("sealed"), PemError::Encrypted),
        ("nothing", String::new(), PemError::Missing("private key")),
        ("a certificate", material.text("one.crt"), PemError::Missing("private key")),
        ("no key", write("PRIVATE KEY", b"x"), PemError::NoDer("PRIVATE KEY".into())),
        ("cut off", key[..80].to_owned(), PemError::NoEnd("PRIVATE KEY".into())),
    ] {
        let ours = private_key(text.as_bytes());
        assert_eq!(ours.map(|_| ()), Err(expected), "{name}");
        assert_eq!(material.public_of(text.as_bytes()), None, "{name}: openssl reads it");
    }
}

#[test]
fn public_keys_and_requests() {
    let material = Material::new();
    material.make("pkey -in one.key -pubout -out public");
    material.make("req -new -key one.key -subj /CN=node -out request");
    let (public, request) = (material.text("public"), material.text("request"));
    let flat = |label: &str, text: &str| wrapped(label, &letters(text), usize::MAX, "", "\r");
    for text in [public.clone(), flat("PUBLIC KEY", &public), format!("# key\n{public}")] {
        let ours = public_key(text.as_bytes()).unwrap();
        assert_eq!(Some(ours.to_vec()), material.public(text.as_bytes()), "{text}");
    }
    for text in [
        request.clone(),
        flat("CERTIFICATE REQUEST", &request),
        request.replace("CERTIFICATE", "NEW CERTIFICATE"),
        format!("Certificate Request:\n    Data:\n{request}"),
    ] {
        let ours = certificate_request(text.as_bytes()).unwrap();
        assert_eq!(Some(ours.to_vec()), material.request(text.as_bytes()), "{text}");
    }
    assert_eq!(public_key(request.as_bytes()), Err(PemError::Missing("public key")));
    assert_eq!(certificate_request(public.as_bytes()), Err(PemError::Missing("certificate request")));
}

#[test]
fn a_chain_with_its_key() {
    let material = Material::new();
    let (one, two, key) = (material.text("one.crt"), material.text("two.crt"), material.text("one.key"));
    let flat = |label: &str, text: &str| wrapped(label, &letters(text), usize::MAX, "", "");
    let given =
        format!("x\n{}{}{}", flat("CERTIFICATE", &one), flat("PRIVATE KEY", &key), flat("CERTIFICATE", &two));
    assert_eq!(identity(given.as_bytes()).unwrap(), format!("{one}{two}{key}"));
    assert_eq!(identity(one.as_bytes()), Err(PemError::Missing("private key")));
    assert_eq!(identity(key.as_bytes()), Err(PemError::Missing("certificate")));
}
