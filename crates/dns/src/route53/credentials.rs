//! The file in which credentials are shared between programs that ask Amazon's services.

use std::path::Path;

use assisted_wire::secret::Secret;

use super::sign::Credentials;
use crate::DnsError;

/// The profile that is used, and no other.
const PROFILE: &str = "route53";
/// Largest file that is read, in bytes.
const LARGEST: usize = 1 << 20;

/// Reads the credentials; each time they are needed, so that new ones are heard without a restart.
pub(super) async fn read(path: &Path) -> Result<Credentials, DnsError> {
    let refused = |problem: String| DnsError::Credentials { path: path.to_owned(), problem };
    let bytes = tokio::fs::read(path).await.map_err(|error| refused(error.to_string()))?;
    if bytes.len() > LARGEST {
        return Err(refused(format!("longer than {LARGEST} bytes")));
    }
    let text = Secret::from(String::from_utf8(bytes).map_err(|_| refused("not a text".to_owned()))?);
    parse(text.expose()).map_err(refused)
}

fn parse(text: &str) -> Result<Credentials, String> {
    let mut section = "";
    let (mut access_key, mut secret_key, mut session_token) = (None, None, None);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').trim();
            continue;
        }
        if section != PROFILE || line.starts_with(['#', ';']) {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else { continue };
        match name.trim() {
            "aws_access_key_id" => access_key = Some(value.trim()),
            "aws_secret_access_key" => secret_key = Some(value.trim()),
            "aws_session_token" => session_token = Some(value.trim()),
            _ => {}
        }
    }
    let given = |value: Option<&'_ str>, name: &str| {
        let value = value.filter(|value| !value.is_empty());
        value.map(str::to_owned).ok_or_else(|| format!("no {name} in the profile [{PROFILE}]"))
    };
    Ok(Credentials {
        access_key: given(access_key, "aws_access_key_id")?,
        secret_key: given(secret_key, "aws_secret_access_key")?.into(),
        session_token: session_token.filter(|token| !token.is_empty()).map(Secret::from),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_of_route_53_alone() {
        let text = "[default]\naws_access_key_id = other\naws_secret_access_key = other\n\n\
                    [route53]\n# kept by somebody\naws_access_key_id=AKI\naws_secret_access_key = a=b\nregion = x\n";
        let read = parse(text).unwrap();
        assert_eq!((read.access_key.as_str(), read.secret_key.expose()), ("AKI", "a=b"));
        assert!(read.session_token.is_none());
        let token = parse(&format!("{text}aws_session_token = t\n")).unwrap().session_token.unwrap();
        assert_eq!(token.expose(), "t");
    }

    #[test]
    fn what_is_missing_is_named() {
        for (text, missing) in [
            ("", "aws_access_key_id"),
            ("[default]\naws_access_key_id=a\naws_secret_access_key=b", "aws_access_key_id"),
            ("[route53]\naws_access_key_id=a\naws_secret_access_key=\n", "aws_secret_access_key"),
        ] {
            let problem = parse(text).unwrap_err();
            assert_eq!(problem, format!("no {missing} in the profile [route53]"));
        }
    }

    #[tokio::test]
    async fn a_file_that_is_not_there() {
        let error = read(Path::new("/nowhere/credentials")).await.unwrap_err().to_string();
        assert!(error.starts_with("credentials in /nowhere/credentials: No such file"), "{error}");
    }
}
