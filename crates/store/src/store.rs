//! The store itself: opening, writing, reading, changes.
//!
//! [`Reader`] can only read. Whoever is given a [`Store`] can write as well.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use assisted_base::failpoint;
use assisted_seal::Keyring;
use tokio::sync::{broadcast, watch};
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::batch::Batch;
use crate::change_feed::ChangeFeed;
use crate::engine::Engine;
use crate::error::{Error, OpenError, WriteError};
use crate::observer::Observer;
use crate::options::Options;
use crate::slow::SlowLog;
use crate::statement::{Output, Statement};
use crate::subject::{Change, Subject};
use crate::text_cache::TextCache;
use crate::value::Row;

/// A database, to be read and written. Cheap to clone; the last clone, readers included, closes it.
#[derive(Clone, Debug)]
pub struct Store(Reader);

/// A database, to be read. It has no way to write.
#[derive(Clone, Debug)]
pub struct Reader(Arc<Inner>);

impl Deref for Store {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.0
    }
}

#[derive(Debug)]
struct Inner {
    engine: Engine,
    feed: Arc<ChangeFeed>,
    texts: TextCache,
    slow: SlowLog,
    /// Those of secrets at rest, once they are given.
    keys: OnceLock<Keyring>,
}

impl Store {
    /// Opens a database, and makes or migrates its schema.
    ///
    /// `address` is `sqlite:PATH`, a path with a `/` in it whose folder exists, or `postgres://…`. The file of an SQLite
    /// database is made, readable to its owner only, for `sqlite:PATH` with the folders above it; a PostgreSQL database
    /// must exist. Must be called within a tokio runtime.
    pub async fn open(address: &str) -> Result<Self, OpenError> {
        Self::open_with(address, &Options::default()).await
    }

    /// The same, with what an operator has chosen.
    pub async fn open_with(address: &str, options: &Options) -> Result<Self, OpenError> {
        let feed = Arc::new(ChangeFeed::default());
        let engine = Engine::open(address, options, &feed).await?;
        let inner = Inner {
            engine,
            feed,
            texts: TextCache::default(),
            slow: SlowLog(options.slow),
            keys: OnceLock::new(),
        };
        Ok(Self(Reader(Arc::new(inner))))
    }

    /// Calls an observer with every commit from now on, for as long as it lives.
    pub fn observe(&self, observer: &Arc<dyn Observer>) {
        self.inner().feed.observe(observer);
    }

    /// Applies a batch: all of it is on disk when this returns, or nothing ever will be.
    pub async fn write(&self, mut batch: Batch) -> Result<(), WriteError> {
        if let Some(error) = batch.broken {
            return Err(error.into());
        }
        if batch.statements.is_empty() {
            return Ok(());
        }
        let texts = std::mem::take(&mut batch.texts);
        self.run(batch).await?;
        self.texts().keep_written(texts);
        Ok(())
    }

    /// Returns when nobody writes any more, which happens by a defect only: whoever holds the store should end then.
    pub async fn writer_ended(&self) {
        self.inner().engine.writer_ended().await;
    }

    async fn run(&self, mut batch: Batch) -> Result<Vec<Output>, WriteError> {
        batch.seal(self.keys())?;
        let step = failpoint::begin(|| Batch::describe(std::slice::from_ref(&batch)).join(", "));
        let step = step.map_err(|_| Error::Closed)?;
        let described = if self.inner().slow.0.is_some() { batch.statements.clone() } else { Vec::new() };
        let span = self.span(&batch);
        let written = self.inner().slow.watch(&described, self.inner().engine.write(batch));
        let written = written.instrument(span.clone()).await;
        if let Err(WriteError::Failed(_)) = written {
            span.record("otel.status_code", "ERROR");
        }
        let written = written?;
        step.end().map_err(|_| Error::Closed)?;
        Ok(written)
    }

    /// A write as a span of a trace; values are not told.
    fn span(&self, batch: &Batch) -> Span {
        let span = tracing::trace_span!(
            target: "assisted::trace",
            "commit",
            otel.kind = "client",
            otel.status_code = Empty,
            db.system.name = if self.engine().is_shared() { "postgresql" } else { "sqlite" },
            db.operation.batch.size = batch.statements.len(),
            db.query.summary = Empty,
        );
        if !span.is_disabled() {
            span.record("db.query.summary", Batch::describe(std::slice::from_ref(batch)).join(", "));
        }
        span
    }

    /// Runs one statement as a transaction of its own and gives the rows it returns.
    pub(crate) async fn write_one(&self, statement: Statement) -> Result<Vec<Row>, WriteError> {
        let batch = Batch { statements: vec![statement], ..Batch::default() };
        let outputs = self.run(batch).await?;
        Ok(outputs.into_iter().next().unwrap_or_default().rows)
    }

    /// The same, as a write about a subject.
    pub(crate) async fn write_one_touching(
        &self,
        statement: Statement,
        subject: Subject,
    ) -> Result<Vec<Row>, WriteError> {
        let batch = Batch { statements: vec![statement], subjects: vec![subject], ..Batch::default() };
        let outputs = self.run(batch).await?;
        Ok(outputs.into_iter().next().unwrap_or_default().rows)
    }

    /// Seals with these keys from now on; the first that are given count.
    pub(crate) fn set_keys(&self, keys: Keyring) {
        let _ = self.inner().keys.set(keys);
    }

    fn inner(&self) -> &Inner {
        &self.0.0
    }
}

impl Reader {
    /// Changes that are written from now on. A receiver that lags must act as on [`Change::Everything`].
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.0.feed.changes()
    }

    /// Changes whenever something may have become due earlier than it was.
    pub fn due_marks(&self) -> watch::Receiver<u64> {
        self.0.feed.due_marks()
    }

    /// Changes whenever there may be an action to do that there was not.
    pub fn action_marks(&self) -> watch::Receiver<u64> {
        self.0.feed.action_marks()
    }

    /// Changes whenever there may be new events.
    pub fn event_marks(&self) -> watch::Receiver<u64> {
        self.0.feed.event_marks()
    }

    /// Drops cached texts of reports that nobody read or wrote since the last call but one. Called from time to time, it gives back what
    /// hosts that are gone, and reports that were replaced, have left behind.
    pub fn age_texts(&self) {
        self.0.texts.age();
    }

    /// Bytes of the texts of reports that are cached.
    pub fn cached_bytes(&self) -> usize {
        self.0.texts.weight()
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), Error> {
        self.read(Statement::new("select 1", Vec::new())).await.map(drop)
    }

    /// The keys of secrets at rest; `None`: they are neither sealed nor opened.
    pub(crate) fn keys(&self) -> Option<&Keyring> {
        self.0.keys.get()
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub(crate) fn texts(&self) -> &TextCache {
        &self.0.texts
    }

    /// Answers several queries, in one round trip.
    pub(crate) async fn read_all(&self, statements: Vec<Statement>) -> Result<Vec<Vec<Row>>, Error> {
        // The engine takes the statements with it.
        let described = if self.0.slow.0.is_some() { statements.clone() } else { Vec::new() };
        self.0.slow.watch(&described, self.0.engine.read(statements)).await
    }

    pub(crate) async fn read(&self, statement: Statement) -> Result<Vec<Row>, Error> {
        Ok(self.read_all(vec![statement]).await?.pop().unwrap_or_default())
    }

    pub(crate) async fn read_one(&self, statement: Statement) -> Result<Option<Row>, Error> {
        Ok(self.read(statement).await?.into_iter().next())
    }

    /// What a `select count(*)` counts.
    pub(crate) async fn count(&self, statement: Statement) -> Result<u64, Error> {
        let row = self.read_one(statement).await?;
        Ok(row.map_or(Ok(0), |row| row.int(0))?.unsigned_abs())
    }
}
