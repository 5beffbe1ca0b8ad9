//! Which partition a key belongs to: the one that consumers and other writers of the topic know it to be in (running §3).

/// FNV-1a of 32 bits, without its sign, over the partitions that there are.
pub(crate) fn of_key(key: &[u8], partitions: usize) -> usize {
    let hash =
        key.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    usize::try_from(hash & 0x7fff_ffff).unwrap_or_default() % partitions.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_hashed_as_is_published() {
        // Vectors of the published algorithm: the hash itself, without its sign.
        for (key, hash) in [("", 0x811c_9dc5_u32), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            let wanted = usize::try_from(hash & 0x7fff_ffff).unwrap();
            assert_eq!(of_key(key.as_bytes(), usize::MAX), wanted, "{key}");
            assert_eq!(of_key(key.as_bytes(), 6), wanted % 6, "{key}");
        }
        assert_eq!(of_key(b"a", 0), 0);
    }
}
