//! Signature of requests to Amazon's services, version 4.
//!
//! The crates that sign for other services than S3 come with a framework of twenty others; the signature itself is these lines,
//! and the example that Amazon publishes holds them.

use std::fmt::Write as _;

use assisted_base::hex;
use assisted_wire::secret::Secret;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ring::{digest, hmac};

/// Who asks.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    pub(super) access_key: String,
    pub(super) secret_key: Secret,
    /// Of credentials that expire.
    pub(super) session_token: Option<Secret>,
}

/// What is signed, besides the moment.
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    pub(super) host: &'a str,
    /// Path, escaped as it is sent.
    pub(super) path: &'a str,
    /// Names and values, escaped as they are sent, ordered by name.
    pub(super) query: &'a str,
    pub(super) body: &'a [u8],
    pub(super) region: &'a str,
    pub(super) service: &'a str,
}

/// The headers that a request needs besides those of HTTP.
pub(super) fn headers(
    request: &Request<'_>,
    by: &Credentials,
    now: Timestamp,
) -> Vec<(&'static str, String)> {
    let now = now.to_zoned(TimeZone::UTC);
    let (moment, day) = (now.strftime("%Y%m%dT%H%M%SZ").to_string(), now.strftime("%Y%m%d").to_string());
    let mut signed = vec![("host", request.host.to_owned()), ("x-amz-date", moment.clone())];
    if let Some(token) = &by.session_token {
        signed.push(("x-amz-security-token", token.expose().to_owned()));
    }
    let names = signed.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let mut canonical = format!("{}\n{}\n{}\n", request.method, request.path, request.query);
    for (name, value) in &signed {
        // Writing to a text can't fail.
        let _ = writeln!(canonical, "{name}:{value}");
    }
    let _ = write!(canonical, "\n{names}\n{}", digest_of(request.body));
    let scope = format!("{day}/{}/{}/aws4_request", request.region, request.service);
    let text = format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{}", digest_of(canonical.as_bytes()));
    let first = format!("AWS4{}", by.secret_key.expose());
    let parts = [day.as_str(), request.region, request.service, "aws4_request"];
    let key = parts.iter().fold(first.into_bytes(), |key, part| mac(&key, part.as_bytes()));
    let signature = hex::encode(&mac(&key, text.as_bytes()));
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
        by.access_key
    );
    // The client sets the host by itself.
    signed.into_iter().skip(1).chain([("authorization", authorization)]).collect()
}

fn mac(key: &[u8], data: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), data).as_ref().to_vec()
}

fn digest_of(data: &[u8]) -> String {
    hex::encode(digest::digest(&digest::SHA256, data).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials() -> Credentials {
        Credentials {
            access_key: "AKIDEXAMPLE".to_owned(),
            secret_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
            session_token: None,
        }
    }

    /// `get-vanilla` of the suite that Amazon published with the version.
    #[test]
    fn the_published_example() {
        let request = Request {
            method: "GET",
            host: "example.amazonaws.com",
            path: "/",
            query: "",
            body: b"",
            region: "us-east-1",
            service: "service",
        };
        let now = "2015-08-30T12:36:00Z".parse().unwrap();
        let headers = headers(&request, &credentials(), now);
        assert_eq!(headers[0], ("x-amz-date", "20150830T123600Z".to_owned()));
        assert_eq!(
            headers[1].1,
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
             SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        );
    }

    #[test]
    fn a_session_token_is_sent_and_signed() {
        let by = Credentials { session_token: Some("token".into()), ..credentials() };
        let request =
            Request { method: "GET", host: "h", path: "/", query: "", body: b"", region: "r", service: "s" };
        let headers = headers(&request, &by, Timestamp::UNIX_EPOCH);
        assert_eq!(headers[1], ("x-amz-security-token", "token".to_owned()));
        assert!(headers[2].1.contains("SignedHeaders=host;x-amz-date;x-amz-security-token,"));
    }
}
