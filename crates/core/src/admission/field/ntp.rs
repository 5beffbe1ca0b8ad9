//! Sources of time (NTP).

use std::net::IpAddr;

use super::{Invalidity, is_lower_alnum};

/// Checks a list of time sources, separated by commas.
pub fn check(list: &str) -> Result<(), Invalidity> {
    let valid = |source: &str| source.parse::<IpAddr>().is_ok() || is_name(source);
    if list.split(',').all(valid) { Ok(()) } else { Err(format!("Invalid NTP source: {list}")) }
}

fn is_name(source: &str) -> bool {
    let bytes = source.as_bytes();
    (2..=63).contains(&bytes.len())
        && is_lower_alnum(bytes[0])
        && is_lower_alnum(bytes[bytes.len() - 1])
        && bytes.iter().all(|byte| is_lower_alnum(*byte) || matches!(byte, b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        for list in ["1.1.1.1", "clock.example.com,fd00::1", "ab"] {
            assert_eq!(check(list), Ok(()), "{list}");
        }
        for list in ["", "a", "a.b, c.d", "Clock.example.com", "jkasdk_asd.com", "1.1.1.1,", "-ab"] {
            assert_eq!(check(list), Err(format!("Invalid NTP source: {list}")));
        }
    }
}
