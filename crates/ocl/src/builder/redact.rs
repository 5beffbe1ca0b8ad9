//! Texts without what nobody but the registries may know: what goes into logs and bundles passes through here (ocl-day1 §B13).

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What stands in place of a secret.
const HIDDEN: &str = "<hidden>";

/// Each names what is kept as `keep`; what follows it is hidden.
static SECRETS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        // Headers: as programs are given or show them, with or without a scheme, and wherever a scheme stands.
        r#"(?im)(?P<keep>(?:^|["'>]|-H|--header[ =])[ \t]*authorization["']?[ \t]*:[ \t]*["']?(?:(?:bearer|basic|token)[ \t]+)?)[A-Za-z0-9+/=._~-]+"#,
        r#"(?i)(?P<keep>authorization["']?\s*[:=]\s*["']?(?:bearer|basic)\s+)[A-Za-z0-9+/=._~-]+"#,
        r#"(?i)(?P<keep>x-secret-key["']?\s*[:=]\s*["']?)[^\s"',]+"#,
        // Entries of auth.json and dockercfg, whole Secrets of Kubernetes.
        r#"(?P<keep>"(?:auth|password|identitytoken|registrytoken|token|access_token)"\s*:\s*")[^"]*"#,
        r"(?P<keep>\.?dockerconfigjson:\s*)\S+",
        r"(?P<keep>\.?dockercfg:\s*)\S+",
        // htpasswd, with its user.
        r"(?P<keep>\w+:)\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}",
        // Users of proxies and registries in addresses; on the web one without a password is a token.
        r"(?P<keep>[a-z][a-z0-9+.-]*://)[^\s/@:]+:[^\s/@]+@",
        r"(?i)(?P<keep>\bhttps?://)[^\s/@:?#]+@",
        // Tokens in the three parts of JSON Web Tokens.
        r"(?P<keep>)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        // Assignments by the names that such things have.
        r#"(?i)(?P<keep>\b(?:[a-z0-9_-]*(?:password|passwd|secret|token|apikey|api_key))\s*=\s*["']?)[^\s"']+"#,
        // Arguments by such names, also in lists, users of curl, accounts at registries.
        r#"(?i)(?P<keep>--[a-z0-9-]*(?:password|token)(?:["'],[ \t]*|[ \t]+))(?:"[^"\n]*"|'[^'\n]*'|["']?-?[^\s"'-][^\s"']*)"#,
        r#"(?P<keep>\bcurl\b[^\n]*?\s(?:-[A-Za-z]*[uU]\s*|--user[ \t=]+)["']?[^\s:"']+:)[^\s"']+"#,
        r#"(?P<keep>--(?:(?:src-|dest-)?creds|proxy-user)["']?[ \t=,]+["']?[^\s:"']+:)[^\s"']+"#,
        r#"(?P<keep>\b(?:podman|buildah|skopeo|docker|oc|helm)\b["',\s]+(?:registry\s+)?login\b[^\n&|;]*?\s["']?-p["']?[ \t=,]*["']?)[^\s"',=-][^\s"']*"#,
        // Values up to the end of their line or text, also within JSON: of YAML, and of variables in Containerfiles' older form.
        r#"(?im)(?P<keep>(?:^|[{,"'\\])[ \t]*(?:-[ \t]+)?[a-z0-9_.-]*password:[ \t]+)(?:"[^"\n]*"|'[^'\n]*'|["']?(?:[^\n"'\\]|\\[^n\n])+)"#,
        r#"(?im)(?P<keep>(?:(?:^|\\n)[ \t]*|STEP (?:\d+/\d+: |"))env[ \t]+[a-z0-9_-]*(?:password|passwd|secret|token|apikey|api_key)[ \t]+)(?:"[^"\n]*"|'[^'\n]*'|["']?(?:[^\n"'\\]|\\[^n\n])+)"#,
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
        assert!(KEYS.is_some() && SECRETS.len() == 17, "each pattern can be read");
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
            "podman login --user reader --password hunter2 quay.io",
            "podman login -u reader -p hunter2 quay.io",
            r#"RUN ["podman", "login", "-p", "hunter2", "quay.io"]"#,
            "buildah login -phunter2 quay.io",
            "skopeo copy --src-creds reader:hunter2 docker://a docker://b",
            "podman pull --creds=reader:hunter2 quay.io/a/b",
            r#"RUN ["skopeo", "inspect", "--creds", "reader:hunter2", "docker://a"]"#,
            "curl --proxy-user 'reader:hunter2' https://h/x",
            "curl -U reader:hunter2 https://h/x",
            "STEP 1/2: RUN register --password 'not hunter2'",
            r#"RUN ["register", "--password", "hunter2"]"#,
            "oc login --token hunter2",
            "RUN curl -fsSu reader:hunter2 -o /x https://h/x",
            "curl -L -u 'reader:hunter2' https://h/x",
            "curl --user reader:hunter2 https://h/x",
            "user: reader\npassword: hunter2\n",
            "- password: the hunter2",
            "- {user: reader, password: 'hunter2'}",
            r#"RUN echo "adminPassword: hunter2" > /x"#,
            r#"{"content":"user: a\npassword: hunter2\n"}"#,
            "ENV PASSWORD hunter2",
            "[1/2] STEP 2/3: ENV API_TOKEN the hunter2",
            r#"Error: building at STEP "ENV PASSWORD hunter2": failed"#,
            r#"{"content":"FROM configs\nENV PASSWORD hunter2\nRUN true"}"#,
            "-H 'Authorization: hunter2'",
            "curl -HAuthorization:hunter2 https://h/x",
            "> Authorization: hunter2",
            "Authorization: token hunter2",
            "git clone https://hunter2@h/x",
            "-----BEGIN EC PRIVATE KEY-----\nhunter2\n-----END EC PRIVATE KEY-----\n",
            "-----BEGIN PRIVATE KEY-----\nhunter2",
        ] {
            let told = redact(text);
            assert!(
                !told.contains("hunter2") && !told.contains("aHVudGVyMg") && told.contains(HIDDEN),
                "{told}"
            );
        }
        for text in [
            "STEP 7/12: RUN dnf -y install strace",
            "a@b.c sha256:00",
            "https://h:8080/x",
            "",
            "podman login --password-stdin --user reader quay.io",
            "podman build --secret id=a,src=b .",
            "podman run -p 8080:80 x",
            "RUN podman login quay.io && mkdir -p /x",
            "after the login: mkdir -pv /x",
            "podman run --user 1000:1000 x",
            "curl -L --user-agent a:b https://h:8080/x?a@b",
            "sort -u a:b",
            "invalid username/password: unauthorized: authentication required",
            "passwd: all authentication tokens updated successfully.",
            "BAD PASSWORD: it is too short",
            "Password: \nLogin Succeeded!",
            "authorization:\n  mode: Webhook",
            "requires authorization: ask for it",
            "docker://busybox@sha256:00 ssh://core@h",
            "STEP 3/4: ENV PATH /bin",
            "ENV PASSWORD_FILE /run/x",
            "the env token is read",
        ] {
            assert_eq!(redact(text), text);
        }
    }
}
