//! What units of systemd are written with.

use std::fmt::Write;

use assisted_wire::infra_env::Proxy;

/// A variable of the unit's programs.
pub(crate) fn environment(unit: &mut String, name: &str, value: &str) {
    let _ = writeln!(unit, "Environment={}", quoted(&format!("{name}={value}")));
}

/// Proxies, under both names that programs know them by.
pub(crate) fn proxies(unit: &mut String, proxy: Option<&Proxy>) {
    let Some(proxy) = proxy else { return };
    for (names, value) in [
        (["HTTP_PROXY", "http_proxy"], &proxy.http_proxy),
        (["HTTPS_PROXY", "https_proxy"], &proxy.https_proxy),
        (["NO_PROXY", "no_proxy"], &proxy.no_proxy),
    ] {
        if let Some(value) = given(value.as_ref()) {
            names.into_iter().for_each(|name| environment(unit, name, value));
        }
    }
}

/// One word of a command line or environment of systemd, which fills in `%` and `$`, and splits at blanks.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '%' => quoted.push_str("%%"),
            // It would end the line, and begin an option of its own.
            letter if letter.is_control() => {}
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// An argument; plain ones are left as people know them.
pub(crate) fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/@+=,?&[]".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        text.to_owned()
    } else {
        quoted(&text.replace('$', "$$"))
    }
}

/// A member of a proxy that is set.
pub(crate) fn given(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{quoted, word};

    #[test]
    fn words() {
        for (text, written) in [
            ("https://h:8090/a?b=c", "https://h:8090/a?b=c"),
            ("", "\"\""),
            ("a b", "\"a b\""),
            ("a%$\"\\\nExecStart=x", "\"a%%$$\\\"\\\\ExecStart=x\""),
        ] {
            assert_eq!(word(text), written);
        }
        assert_eq!(quoted("http_proxy=http://u:p%40@h"), "\"http_proxy=http://u:p%%40@h\"");
    }
}
