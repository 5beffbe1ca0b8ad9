//! Files by key.
