//! Passwords: checked for length when they are chosen, kept as argon2id hashes, verified in constant time.

use argon2::Argon2;
use argon2::password_hash::rand_core::OsRng;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use assisted_wire::secret::Secret;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Fewer characters than this are guessed; of more, length is what counts.
pub const SHORTEST: usize = 12;
/// Longer texts are no passwords, and hashing them takes time.
pub const LONGEST: usize = 1024;

/// Hashes that are made at a time: each takes 19 MiB and some tens of milliseconds of a core.
const AT_ONCE: usize = 2;

/// Makes and verifies hashes, a bounded number at a time and off the threads that serve requests.
#[derive(Debug)]
pub struct Passwords {
    turns: Semaphore,
    /// What the password of nobody is compared with, so that an unknown name takes as long as a wrong password.
    nobody: String,
}

/// A hash that can't be made.
#[derive(Debug, thiserror::Error)]
#[error("a password can't be hashed: {0}")]
pub struct HashError(String);

impl Passwords {
    /// # Errors
    ///
    /// No hash can be made.
    pub fn new() -> Result<Self, HashError> {
        Ok(Self { turns: Semaphore::new(AT_ONCE), nobody: hash("of nobody at all")? })
    }

    /// The hash of a password, in the PHC string format.
    ///
    /// # Errors
    ///
    /// No hash can be made.
    pub async fn hash(&self, password: Secret) -> Result<String, HashError> {
        let _turn = self.turns.acquire().await;
        let made = spawn_blocking(move || hash(password.expose())).await;
        made.map_err(|error| HashError(error.to_string()))?
    }

    /// Whether a password is that of a hash; without a hash it never is, after the same time.
    pub async fn verify(&self, password: Secret, hash: Option<String>) -> bool {
        let _turn = self.turns.acquire().await;
        let (known, hash) = (hash.is_some(), hash.unwrap_or_else(|| self.nobody.clone()));
        let verified = spawn_blocking(move || verify(password.expose(), &hash)).await;
        known && verified.unwrap_or(false)
    }
}

fn hash(password: &str) -> Result<String, HashError> {
    let salt = SaltString::generate(&mut OsRng);
    let made = Argon2::default().hash_password(password.as_bytes(), &salt);
    Ok(made.map_err(|error| HashError(error.to_string()))?.to_string())
}

fn verify(password: &str, hash: &str) -> bool {
    PasswordHash::new(hash)
        .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_known_by_its_hash_alone() {
        let passwords = Passwords::new().unwrap();
        let good = || Secret::from("correct horse battery");
        let (one, other) = (passwords.hash(good()).await.unwrap(), passwords.hash(good()).await.unwrap());
        assert_ne!(one, other);
        assert!(one.starts_with("$argon2id$") && !one.contains("horse"));
        assert!(passwords.verify(good(), Some(one.clone())).await);
        assert!(!passwords.verify("correct horse".into(), Some(one)).await);
        assert!(!passwords.verify(good(), Some("nonsense".to_owned())).await);
        assert!(!passwords.verify("of nobody at all".into(), None).await);
    }
}
