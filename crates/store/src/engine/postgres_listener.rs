//! Notifications between replicas: `NOTIFY` in the writing transaction, `LISTEN` on a connection of its own.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_postgres::{AsyncMessage, Config};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::change_feed::ChangeFeed;
use crate::error::Error;
use crate::subject;

const LISTEN: &str = "listen assisted_changes";
pub(super) const NOTIFY: &str = "select pg_notify('assisted_changes', $1)";

/// Pause before a connection that is lost, or left, is made again.
const PAUSE: Duration = Duration::from_secs(1);

/// Starts to listen; news of commits after this has returned arrive. Whoever finds that the server takes no writes any more notifies
/// `moved`: another one has the news then.
pub(super) async fn start(
    config: Config,
    tls: MakeRustlsConnect,
    replica: Uuid,
    feed: Arc<ChangeFeed>,
    moved: Arc<Notify>,
) -> Result<AbortOnDropHandle<()>, Error> {
    let mut session = listen(&config, &tls, replica, &feed).await?;
    Ok(AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            tokio::select! {
                // Ends when the connection is lost; the task that drives it is dropped with the session.
                _ = &mut session => {}
                // Where no other server is, each write that fails says so again.
                () = moved.notified() => tokio::time::sleep(PAUSE).await,
            }
            session = loop {
                match listen(&config, &tls, replica, &feed).await {
                    Ok(session) => break session,
                    Err(error) => {
                        tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            "no news from other replicas"
                        );
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            };
            feed.everything();
        }
    })))
}

/// One connection that listens; the handle ends with it.
async fn listen(
    config: &Config,
    tls: &MakeRustlsConnect,
    replica: Uuid,
    feed: &Arc<ChangeFeed>,
) -> Result<AbortOnDropHandle<()>, Error> {
    let (client, mut connection) = config.connect(tls.clone()).await?;
    let feed = Arc::clone(feed);
    let session = AbortOnDropHandle::new(tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            let AsyncMessage::Notification(notification) = message else { continue };
            match subject::decode(notification.payload()) {
                Some(notification) if notification.sender == replica => {}
                Some(notification) => {
                    feed.elsewhere(&notification.subjects, notification.marks);
                }
                None => feed.everything(),
            }
        }
    }));
    client.batch_execute(LISTEN).await?;
    // The connection would end with its client.
    Ok(AbortOnDropHandle::new(tokio::spawn(async move {
        let _client = client;
        let _ = session.await;
    })))
}
