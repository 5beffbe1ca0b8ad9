//! Query parameters.

use http::Uri;

/// The value of a parameter, of its first appearance; none when it is absent or empty.
pub(crate) fn value(uri: &Uri, name: &str) -> Option<String> {
    let (_, value) = form_urlencoded::parse(uri.query()?.as_bytes()).find(|(key, _)| key == name)?;
    (!value.is_empty()).then(|| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_counts_and_an_empty_one_is_none() {
        let uri: Uri = "/images/x?version=4.18%2B1&type=&version=2&arch".parse().unwrap();
        assert_eq!(value(&uri, "version").as_deref(), Some("4.18+1"));
        assert_eq!(value(&uri, "type"), None);
        assert_eq!(value(&uri, "arch"), None);
        assert_eq!(value(&"/".parse().unwrap(), "version"), None);
    }
}
