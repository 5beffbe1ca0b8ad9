//! Bytes as hexadecimal digits.

/// Two small digits for each byte.
pub fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(super::encode(&[0, 9, 0xa0, 0xff]), "0009a0ff");
        assert_eq!(super::encode(&[]), "");
    }
}
