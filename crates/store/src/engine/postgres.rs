//! PostgreSQL: one task writes, another one writes what is large, a pool of connections reads.
//!
//! The writer takes whatever has queued, sends it as one transaction without waiting between the statements, looks at
//! the answers and commits: two round trips and one flush to disk for many batches. When one of them fails, the
//! transaction is rolled back and its halves go each alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use assisted_base::failpoint;
use assisted_core::model::host::HostKey;
use deadpool_postgres::{Client, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime, Timeouts};
use futures::TryStreamExt;
use jiff::Timestamp;
use tokio::sync::{Notify, mpsc};
use tokio::time::{MissedTickBehavior, timeout};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, GenericClient, Transaction};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::postgres_group::{self, Step};
use super::writer::{self, Group, Job, Reply, Writer};
use super::{pipeline, postgres_listener, postgres_tls, postgres_value};
use crate::batch::Batch;
use crate::change_feed::ChangeFeed;
use crate::error::{Error, OpenError, WriteError};
use crate::options::Options;
use crate::schema;
use crate::statement::{Output, Statement};
use crate::subject;
use crate::value::{Row, Value};

/// How often connections are looked for that are too many, or too old.
const TRIM: Duration = Duration::from_secs(30);

/// How long a request waits for a connection, and for one to be made.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was sent and not taken for so long ends a connection.
const UNTAKEN: Duration = Duration::from_secs(5);

/// The server ends a statement itself; this much later it is taken for dead.
const GRACE: Duration = Duration::from_secs(1);

/// Batches in one transaction.
const GROUP: usize = 128;

/// Tries of a batch that another replica's transaction stands in the way of.
const TRIES: u32 = 5;

/// Key of the lock under which the schema is migrated.
const MIGRATION_LOCK: i64 = 0x6173_7369_7374_6564;

// A replica that hangs or vanishes amid a transaction must not hold up the others for long.
const SESSION: &str = "-c idle_in_transaction_session_timeout=15s -c lock_timeout=10s -c tcp_keepalives_idle=10 \
     -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3";

// Check-ins that are lost with a crash of the database come again with the next poll: no flush to disk is waited for.
const HASTY: &str = "-c synchronous_commit=off";

const CHECK_INS: &str = "update check_ins c set at = n.at from unnest($1::uuid[], $2::uuid[], $3::bigint[]) \
     as n (infra_env_id, host_id, at) where c.infra_env_id = n.infra_env_id and c.host_id = n.host_id \
     and (c.at is null or c.at < n.at)";

#[derive(Debug)]
pub(crate) struct Postgres {
    pool: Pool,
    check_ins: Pool,
    limit: Duration,
    moved: Arc<Notify>,
    writer: Writer,
    _listener: AbortOnDropHandle<()>,
    _trimming: AbortOnDropHandle<()>,
}

/// Commits batches, many at once (group commit): what that takes.
#[derive(Debug)]
struct GroupCommitter {
    pool: Pool,
    limit: Duration,
    replica: Uuid,
    /// Notified when the server takes no writes any more.
    moved: Arc<Notify>,
}

impl Postgres {
    pub(super) async fn open(
        address: &str,
        options: &Options,
        feed: &Arc<ChangeFeed>,
    ) -> Result<Self, OpenError> {
        let (config, tls) = configured(address, options)?;
        let pool = connections(&config, &tls, options.connections.get())?;
        let mut hasty = config.clone();
        hasty.options(format!("{HASTY} {}", config.get_options().unwrap_or_default()));
        let check_ins = connections(&hasty, &tls, 1)?;
        migrate(&mut pool.get().await.map_err(Error::from)?).await?;

        let replica = Uuid::new_v4();
        let limit = options.statement_limit.saturating_add(GRACE);
        let moved = Arc::new(Notify::new());
        let listener =
            postgres_listener::start(config, tls, replica, Arc::clone(feed), Arc::clone(&moved)).await?;
        let (writer, queue) = Writer::new();
        let committer = GroupCommitter { pool: pool.clone(), limit, replica, moved: Arc::clone(&moved) };
        tokio::spawn(write_queued(committer, Arc::clone(feed), queue));
        let trimming = tokio::spawn(trim(pool.clone(), options.idle, options.lifetime));
        let trimming = AbortOnDropHandle::new(trimming);
        Ok(Self { pool, check_ins, limit, moved, writer, _listener: listener, _trimming: trimming })
    }

    pub(super) async fn writer_ended(&self) {
        self.writer.ended().await;
    }

    pub(super) async fn write(&self, batch: Batch) -> Reply {
        self.writer.write(batch).await
    }

    /// Answers the queries in one round trip, each from the state of its own moment.
    pub(super) async fn read(&self, statements: Vec<Statement>) -> Result<Vec<Vec<Row>>, Error> {
        let client = self.pool.get().await?;
        within(self.limit, client, async |client| {
            let prepared = prepare(client, &statements).await?;
            let requests = statements
                .iter()
                .zip(&prepared)
                .map(|(statement, prepared)| fetch(&***client, prepared, &statement.params));
            pipeline::run(requests).await.into_iter().map(|output| Ok(output?.rows)).collect()
        })
        .await
    }

    pub(super) async fn flush_checkins(
        &self,
        latest: &BTreeMap<HostKey, Timestamp>,
    ) -> Result<(), WriteError> {
        // In the order of the keys, so that two replicas don't lock the same rows crosswise.
        let params = vec![
            Value::List(latest.keys().map(|key| key.infra_env_id.0.into()).collect()),
            Value::List(latest.keys().map(|key| key.host_id.0.into()).collect()),
            Value::List(latest.values().map(|at| Value::from(*at)).collect()),
        ];
        let statement = Statement::new(CHECK_INS, params);
        let client = self.check_ins.get().await.map_err(Error::from)?;
        let flushed = within(self.limit, client, async |client| {
            let prepared = client.prepare_cached(&statement.sql).await.map_err(Error::from)?;
            fetch(&***client, &prepared, &statement.params).await?;
            Ok(())
        })
        .await;
        leave_if_read_only(&self.check_ins, &self.moved, &flushed);
        flushed
    }
}

/// How connections to the database of an address are made.
pub(super) fn configured(address: &str, options: &Options) -> Result<(Config, MakeRustlsConnect), OpenError> {
    let (address, tls) = postgres_tls::of_address(address, options)?;
    let mut config: Config = address.parse().map_err(|error| {
        // The parser's error names what is wrong with the address, never its parts.
        let error: tokio_postgres::Error = error;
        OpenError::Address(
            std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string),
        )
    })?;
    config
        .application_name(options.application_name())
        .keepalives_idle(Duration::from_secs(15))
        .keepalives_interval(Duration::from_secs(5))
        .keepalives_retries(3)
        .tcp_user_timeout(UNTAKEN);
    let tls = postgres_tls::connector(&mut config, &tls)?;
    let own = format!("{SESSION} -c statement_timeout={}", options.statement_limit.as_millis());
    let session = config.get_options().map_or_else(|| own.clone(), |given| format!("{own} {given}"));
    config.options(session);
    let servers =
        u32::try_from(config.get_hosts().len().max(config.get_hostaddrs().len())).unwrap_or(u32::MAX);
    if servers > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
        // Of several servers the one is meant that takes writes, whichever that is now.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    if config.get_connect_timeout().is_none() {
        // One that does not answer leaves time for the others.
        config.connect_timeout(if servers > 1 { PATIENCE / servers.saturating_add(1) } else { PATIENCE });
    }
    Ok((config, tls))
}

/// One connection, which ends with its guard.
pub(crate) async fn connect(
    address: &str,
    options: &Options,
) -> Result<(tokio_postgres::Client, AbortOnDropHandle<()>), OpenError> {
    let (config, tls) = configured(address, options)?;
    let (client, connection) = config.connect(tls).await.map_err(Error::from)?;
    // How it ends is told to whoever uses the client.
    let connection = tokio::spawn(async move { drop(connection.await) });
    Ok((client, AbortOnDropHandle::new(connection)))
}

/// Connections that are made when they are needed, and kept.
fn connections(config: &Config, tls: &MakeRustlsConnect, most: usize) -> Result<Pool, OpenError> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let timeouts = Timeouts { wait: Some(PATIENCE), create: Some(PATIENCE), recycle: Some(PATIENCE) };
    Pool::builder(Manager::from_config(config.clone(), tls.clone(), recycling))
        .max_size(most)
        .timeouts(timeouts)
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|error| OpenError::Address(error.to_string()))
}

/// Does something with a connection, within a limit. One that answers nothing is not given to the next.
async fn within<T, E: From<Error>>(
    limit: Duration,
    mut client: Client,
    work: impl AsyncFnOnce(&mut Client) -> Result<T, E>,
) -> Result<T, E> {
    match timeout(limit, work(&mut client)).await {
        Ok(done) => done,
        Err(_) => {
            drop(Client::take(client));
            Err(Error::Silent.into())
        }
    }
}

/// Closes connections without use: those that are too many, and those that are too old.
async fn trim(pool: Pool, most: usize, lifetime: Duration) {
    let period = if lifetime.is_zero() { TRIM } else { TRIM.min(lifetime) };
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        retain(&pool, most, lifetime);
    }
}

fn retain(pool: &Pool, most: usize, lifetime: Duration) {
    let mut kept = 0;
    pool.retain(|_, metrics| {
        let keep = kept < most && (lifetime.is_zero() || metrics.age() < lifetime);
        kept += usize::from(keep);
        keep
    });
}

async fn prepare(client: &Client, statements: &[Statement]) -> Result<Vec<tokio_postgres::Statement>, Error> {
    let mut prepared = Vec::with_capacity(statements.len());
    for statement in statements {
        prepared.push(client.prepare_cached(&statement.sql).await?);
    }
    Ok(prepared)
}

/// Sends a prepared statement and collects what it brings.
async fn fetch<P: ToSql + Sync>(
    client: &impl GenericClient,
    prepared: &tokio_postgres::Statement,
    params: &[P],
) -> Result<Output, Error> {
    let rows = client.query_raw(prepared, params).await?;
    futures::pin_mut!(rows);
    let mut output = Output::default();
    while let Some(row) = rows.try_next().await? {
        output.rows.push(postgres_value::from_postgres(&row)?);
    }
    output.affected = rows.rows_affected().unwrap_or_default();
    Ok(output)
}

/// Writes what has queued, until nobody can add to it any more; what is large beside the rest, one after the other.
async fn write_queued(committer: GroupCommitter, feed: Arc<ChangeFeed>, mut queue: mpsc::Receiver<Job>) {
    let committer = Arc::new(committer);
    let (large, mut larger) = mpsc::unbounded_channel();
    let (beside, told) = (Arc::clone(&committer), Arc::clone(&feed));
    tokio::spawn(async move {
        while let Some(job) = larger.recv().await {
            write_jobs(&beside, &mut vec![job], &told).await;
        }
    });
    let mut jobs = Vec::with_capacity(GROUP);
    while queue.recv_many(&mut jobs, GROUP).await > 0 {
        if writer::take_large(&mut jobs).any(|job| large.send(job).is_err()) {
            return;
        }
        if !jobs.is_empty() {
            write_jobs(&committer, &mut jobs, &feed).await;
        }
    }
}

/// Writes jobs together, and answers each.
async fn write_jobs(committer: &GroupCommitter, jobs: &mut Vec<Job>, feed: &ChangeFeed) {
    let group = Group::of(jobs);
    let replies = write_group(committer, &group.batches).await;
    group.answer(replies, feed);
}

/// Writes batches in as few transactions as can be: a group in which something fails is halved until it stands alone.
async fn write_group(committer: &GroupCommitter, batches: &[Batch]) -> Vec<Reply> {
    let mut replies = Vec::with_capacity(batches.len());
    let mut groups = vec![batches];
    while let Some(group) = groups.pop() {
        match transact(committer, group, postgres_group::plan(group)).await {
            Ok(outputs) => replies.extend(outputs.into_iter().map(Ok)),
            Err(error) if !may_be_one_batch(&error) => {
                replies.extend(group.iter().map(|_| Err(error.clone())));
            }
            Err(_) => match group {
                [batch] => replies.push(write_alone(committer, batch).await),
                _ => {
                    let (first, second) = group.split_at(group.len() / 2);
                    groups.extend([second, first]);
                }
            },
        }
    }
    replies
}

/// Whether an error may be the fault of one batch only; a lost connection, say, is not.
fn may_be_one_batch(error: &WriteError) -> bool {
    match error {
        WriteError::Conflict { .. } => true,
        WriteError::Failed(Error::Postgres(cause)) => !cause.is_closed(),
        WriteError::Failed(_) => false,
    }
}

/// Writes a batch in a transaction of its own, statement by statement, so that it is known which one fails.
async fn write_alone(committer: &GroupCommitter, batch: &Batch) -> Reply {
    let batches = std::slice::from_ref(batch);
    let mut tries = 1;
    loop {
        let steps = batch.statements.iter().map(|statement| Step::One(0, statement)).collect();
        match transact(committer, batches, steps).await {
            Ok(outputs) => return Ok(outputs.into_iter().next().unwrap_or_default()),
            Err(error) if tries < TRIES && stood_in_the_way(&error) => tries += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Whether another replica's transaction won, and a second try may succeed.
fn stood_in_the_way(error: &WriteError) -> bool {
    let WriteError::Failed(Error::Postgres(cause)) = error else { return false };
    cause.code().is_some_and(|code| {
        [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE].contains(code)
    })
}

/// Writes the batches, of which the steps were made, in one transaction; an error means that nothing is written.
async fn transact(
    committer: &GroupCommitter,
    batches: &[Batch],
    mut steps: Vec<Step<'_>>,
) -> Result<Vec<Vec<Output>>, WriteError> {
    let subjects = batches.iter().flat_map(|batch| batch.subjects.iter().copied());
    let notifications: Vec<_> = subject::encode(committer.replica, subjects)
        .into_iter()
        .map(|payload| Statement::new(postgres_listener::NOTIFY, vec![payload.into()]))
        .collect();
    steps.extend(notifications.iter().map(|statement| Step::One(batches.len(), statement)));

    let client = committer.pool.get().await.map_err(Error::from)?;
    let done = within(committer.limit, client, async |client| {
        let mut prepared = Vec::with_capacity(steps.len());
        for step in &steps {
            prepared.push(client.prepare_cached(step.sql()).await.map_err(Error::from)?);
        }
        let transaction = client.transaction().await.map_err(Error::from)?;
        let requests = steps.iter().zip(&prepared).map(|(step, prepared)| async {
            match step {
                Step::One(_, statement) => fetch(&*transaction, prepared, &statement.params).await,
                Step::CombinedStatement(many) => fetch(&*transaction, prepared, &many.params).await,
            }
        });
        let mut outputs: Vec<Vec<Output>> = Vec::new();
        outputs.resize_with(batches.len() + 1, Vec::new);
        for (step, output) in steps.iter().zip(pipeline::run(requests).await) {
            let output = output?;
            if let Some((rows, what)) = step.guard()
                && output.affected != rows
            {
                return Err(WriteError::Conflict { what });
            }
            if let Step::One(batch, _) = step {
                outputs[*batch].push(output);
            }
        }
        transaction.commit().await.map_err(Error::from)?;
        failpoint::passed(|| Batch::describe(batches));
        outputs.truncate(batches.len());
        Ok(outputs)
    })
    .await;
    leave_if_read_only(&committer.pool, &committer.moved, &done);
    done
}

/// Closes the connections to a server that takes no writes any more: of several servers another one does now, and the next
/// connection finds it. So does the one that listens: news of other replicas come from where they write.
fn leave_if_read_only<T>(pool: &Pool, moved: &Notify, done: &Result<T, WriteError>) {
    if let Err(WriteError::Failed(Error::Postgres(cause))) = done
        && cause.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION)
    {
        tracing::warn!("the database takes no writes any more: its connections are made anew");
        pool.retain(|_, _| false);
        moved.notify_one();
    }
}

async fn migrate(client: &mut Client) -> Result<(), OpenError> {
    let transaction = client.transaction().await.map_err(Error::from)?;
    // A large table takes the time it takes.
    transaction.batch_execute("set local statement_timeout = 0").await.map_err(Error::from)?;
    lock_schema(&transaction).await?;
    transaction.batch_execute(schema::CREATE_VERSIONS).await.map_err(Error::from)?;
    let found: i64 = transaction.query_one(schema::CURRENT, &[]).await.map_err(Error::from)?.get(0);
    if found == 0
        && let Some(row) =
            transaction.query_opt(schema::OF_OTHERS_IN_POSTGRES, &[]).await.map_err(Error::from)?
    {
        return Err(OpenError::OfOthers { table: row.get(0) });
    }
    for (version, migration) in schema::missing(found)? {
        apply_migration(&transaction, version, migration).await?;
    }
    transaction.commit().await.map_err(Error::from)?;
    Ok(())
}

/// Has those who make a schema at the same time take their turn, such as replicas that start at once.
pub(super) async fn lock_schema(transaction: &Transaction<'_>) -> Result<(), Error> {
    transaction.execute("select pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK]).await?;
    Ok(())
}

/// Makes a version of the schema from the one before it.
pub(super) async fn apply_migration(
    transaction: &Transaction<'_>,
    version: i64,
    migration: &schema::Migration,
) -> Result<(), OpenError> {
    let failed = |error| OpenError::Migration { version, source: Error::from(error) };
    transaction.batch_execute(migration.common).await.map_err(failed)?;
    transaction.batch_execute(migration.postgres).await.map_err(failed)?;
    transaction.execute(schema::RECORD, &[&version, &schema::now()]).await.map_err(failed)?;
    Ok(())
}
