//! `assisted admin keys …`: the keys of secrets at rest. It works on the key file, the database and the files themselves, and not
//! through the API.

use assisted_blob::Blob;
use assisted_config::Settings;
use assisted_console::Failure;
use assisted_console::output::{line, table};
use assisted_seal::{Key, KeyFile, Keyring, Keys, SealedFile};
use assisted_store::Store;
use clap::Subcommand;

use super::progress;
use crate::serve::secrets::key_file;
use crate::serve::storage::StorageArgs;
use crate::serve::{files, identity};

/// Rounds in which everything that is written meanwhile is sealed anew.
const MOST_ROUNDS: u32 = 20;

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Show which keys there are, and whether all secrets are sealed with the newest
    List {
        #[command(flatten)]
        storage: StorageArgs,
    },
    /// Seal all secrets with a new key; the old one still opens what it has sealed. Services that read the same key file may run.
    /// What was ended midway is gone on with
    Rotate {
        #[command(flatten)]
        storage: StorageArgs,
    },
    /// Forget the keys that nothing is sealed with any more. No service may run that does not know the newest
    Forget {
        #[command(flatten)]
        storage: StorageArgs,
    },
}

/// What the commands work on.
struct KeyTools {
    file: KeyFile,
    keys: Keys,
    ring: Keyring,
    store: Store,
    blob: Blob,
    /// Signs tokens.
    token_key: SealedFile,
}

impl KeyTools {
    async fn open(storage: &StorageArgs) -> Result<Self, Failure> {
        let settings = Settings::from_env(&|name| std::env::var(name).ok()).map_err(Failure::refused)?;
        let data_dir = storage.data_dir(&settings.http.work_dir).map_err(|error| refused(&error))?;
        let file = key_file(&settings.seal, &data_dir);
        // A database is made where there is none: that is not what anybody wants here.
        if !file.exists() {
            return Err(Failure::Refused(format!(
                "there is no key file {}: start the service once, or say where it is by SEAL_KEY_FILE or --data-dir",
                file.path().display()
            )));
        }
        let keys = file.read().await.map_err(Failure::refused)?;
        let store = storage.store(&settings, &data_dir).await.map_err(|error| refused(&error))?;
        // Before anything is changed: are these the keys of the database at all?
        let ring = Keyring::new(keys.clone());
        store.unlock(&ring).await.map_err(Failure::refused)?;
        let blob = files::open(&settings.storage, &data_dir).await.map_err(|error| refused(&error))?;
        let blob = blob.sealed(ring.clone());
        let token_key = identity::key_file(&data_dir);
        Ok(Self { file, keys, ring, store, blob, token_key })
    }

    async fn is_done(&self) -> Result<bool, Failure> {
        self.store.is_sealing_done().await.map_err(Failure::refused)
    }

    /// Writes the key file, takes its keys, and waits until services have them as well.
    async fn write(&self) -> Result<(), Failure> {
        self.file.write(&self.keys).await.map_err(Failure::refused)?;
        self.ring.replace(self.keys.clone());
        tokio::time::sleep(Keyring::SETTLED).await;
        Ok(())
    }

    /// Seals everything that is not sealed with the newest key, until nothing is left.
    async fn seal(&self) -> Result<(), Failure> {
        for _ in 0..MOST_ROUNDS {
            let sealed = async {
                let rows = self.store.seal_rows().await.map_err(Failure::refused)?;
                let files = self.blob.seal_files().await.map_err(Failure::refused)?;
                Ok::<_, Failure>((rows, files))
            };
            let (rows, mut files) = Box::pin(progress::during("seals what is there anew", sealed)).await?;
            files += u64::from(self.token_key.reseal(&self.ring).map_err(Failure::refused)?);
            if rows + files == 0 {
                return self.store.sealing_done().await.map_err(Failure::refused);
            }
            line(&format!("{rows} rows and {files} files are sealed with {} now", self.keys.seals.id()))?;
        }
        Err(Failure::Refused(
            "something seals with an old key all the time: is there a service that reads another key file? All keys are kept"
                .to_owned(),
        ))
    }
}

fn refused(error: &anyhow::Error) -> Failure {
    Failure::Refused(format!("{error:#}"))
}

impl Command {
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::List { storage } => list(&KeyTools::open(&storage).await?).await,
            Self::Rotate { storage } => rotate(KeyTools::open(&storage).await?).await,
            Self::Forget { storage } => forget(KeyTools::open(&storage).await?).await,
        }
    }
}

async fn list(tools: &KeyTools) -> Result<(), Failure> {
    let Keys { seals, next, opens } = &tools.keys;
    let opens = opens.iter().map(|key| (key, "opens what it has sealed"));
    let next = next.iter().map(|key| (key, "is next"));
    let rows = [(seals, "seals")].into_iter().chain(next).chain(opens);
    line(&table(["KEY", "WHAT IT DOES"], rows.map(|(key, what)| [key.id().to_string(), what.to_owned()])))?;
    line(if tools.is_done().await? {
        "\nAll secrets are sealed with the key that seals."
    } else {
        "\nNot all secrets are sealed with the key that seals: start the service, or `assisted admin keys rotate`."
    })
}

async fn rotate(mut tools: KeyTools) -> Result<(), Failure> {
    // What was ended midway has a key that is next, or one that seals and has not sealed everything.
    if tools.keys.next.is_none() && tools.is_done().await? {
        tools.keys.next = Some(Key::generate().map_err(Failure::refused)?);
        line("a new key is in the key file; services learn it now")?;
        tools.write().await?;
        tools.store.unlock(&tools.ring).await.map_err(Failure::refused)?;
    }
    if let Some(next) = tools.keys.next.take() {
        // Everybody has it, and the database has noted it, before the first value is sealed with it.
        tools.keys.opens.push(std::mem::replace(&mut tools.keys.seals, next));
        tools.write().await?;
    }
    tools.seal().await?;
    line(
        "All secrets are sealed with the new key. The old one still opens: keep it until every service has the new one, then",
    )?;
    line("  assisted admin keys forget")
}

async fn forget(mut tools: KeyTools) -> Result<(), Failure> {
    if tools.keys.next.is_some() || !tools.is_done().await? {
        return Err(Failure::Refused(
            "not all secrets are sealed with the newest key: run `assisted admin keys rotate` first"
                .to_owned(),
        ));
    }
    // What somebody has sealed meanwhile with an old one.
    tools.seal().await?;
    tools.store.forget_other_keys().await.map_err(Failure::refused)?;
    let count = tools.keys.opens.len();
    tools.keys.opens.clear();
    tools.write().await?;
    line(&format!("{count} keys are forgotten; {} seals", tools.keys.seals.id()))
}
