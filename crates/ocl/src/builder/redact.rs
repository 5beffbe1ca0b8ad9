//! Texts without what nobody but the registries may know: what goes into logs and bundles passes through here (ocl-day1 §B13).

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What stands in place of a secret.
const HIDDEN: &str = "<hidden>";

/// Each names what is kept as `keep`; what follows it is hidden.
static SECRETS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        // Headers.
        r#"(?i)(?P<keep>authorization["']?\s*[:=]\s*["']?(?:bearer|basic)\s+)[A-Za-z0-9+/=._~-]+"#,
        r#"(?i)(?P<keep>x-secret-key["']?\s*[:=]\s*["']?)[^\s"',]+"#,
        // Entries of auth.json and dockercfg, whole Secrets of Kubernetes.
        r#"(?P<keep>"(?:auth|password|identitytoken|registrytoken|token|access_token)"\s*:\s*")[^"]*"#,
        r"(?P<keep>\.?dockerconfigjson:\s*)\S+",
        r"(?P<keep>\.?dockercfg:\s*)\S+",
        // htpasswd, with its user.
        r"(?P<keep>\w+:)\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}",
        // Users of proxies and registries in addresses.
        r"(?P<keep>[a-z][a-z0-9+.-]*://)[^\s/@:]+:[^\s/@]+@",
        // Tokens in the three parts of JSON Web Tokens.
        r"(?P<keep>)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        // Assignments by the names that such things have.
        r#"(?i)(?P<keep>\b(?:[a-z0-9_-]*(?:password|passwd|secret|token|apikey|api_key))\s*=\s*["']?)[^\s"']+"#,
    ];
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});

static KEYS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?s)-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)").ok()
});

/// The text without credentials, tokens and private keys.
pub fn redact(text: &str) -> String {
    let mut text = Cow::Borrowed(text);
    if let Some(keys) = &*KEYS {
        text = Cow::Owned(keys.replace_all(&text, HIDDEN).into_owned());
    }
    for secret in &*SECRETS {
        let hidden = |found: &Captures<'_>| format!("{}{HIDDEN}", &found["keep"]);
        text = Cow::Owned(secret.replace_all(&text, hidden).into_owned());
    }
    text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_and_all_else_stays() {
        assert!(KEYS.is_some() && SECRETS.len() == 9, "each pattern can be read");
        for text in [
            r#"{"auths":{"a:1":{"auth":"aHVudGVyMg=="}}}"#,
            "Authorization: Bearer hunter2",
            "authorization=Basic hunter2==",
            "-H 'X-Secret-Key: hunter2'",
            "ocl:$2b$04$1AlDffRRSUF1uJo1esizWuTj3WksT4bsvpVJAFCqCTFPsdhunter2",
            "proxy http://user:hunter2@proxy:3128",
            "  .dockerconfigjson: hunter2==",
            "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJodW50ZXIyIn0.hunter2",
            "RUN TOKEN=hunter2 ./register",
            "my_password='hunter2'",
            "-----BEGIN EC PRIVATE KEY-----\nhunter2\n-----END EC PRIVATE KEY-----\n",
            "-----BEGIN PRIVATE KEY-----\nhunter2",
        ] {
            let told = redact(text);
            assert!(
                !told.contains("hunter2") && !told.contains("aHVudGVyMg") && told.contains(HIDDEN),
                "{told}"
            );
        }
        for text in ["STEP 7/12: RUN dnf -y install strace", "a@b.c sha256:00", "https://h:8080/x", ""] {
            assert_eq!(redact(text), text);
        }
    }
}
