//! Replicas on one database and one bucket, and how they are asked.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_core::model::refusal::RefusalKind;
use assisted_service::{Error, Service};
use assisted_testkit::{AwsServer, Bucket, Postgres};
use futures::future::join_all;
use rand::Rng;
use rand::rngs::StdRng;

use super::plan::Plan;
use super::replica::Replica;

/// How long something is asked again and again; what is disturbed is over long before.
const LIMIT: Duration = Duration::from_secs(120);

/// How long one replica is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What all replicas share.
pub struct Place {
    pub socket: PathBuf,
    pub database: String,
    pub bucket_port: u16,
    pub bucket: Bucket,
}

pub struct World {
    pub replicas: Vec<Replica>,
}

/// A definite answer.
pub struct Answer<T> {
    pub outcome: Result<T, Error>,
    /// How many times it was asked before, and it is not known whether that was done.
    pub unknown: u32,
}

impl World {
    pub async fn start(plan: &Plan) -> Self {
        let server = Postgres::start().unwrap();
        let address = server.create_database().unwrap();
        let bucket = AwsServer::bucket().unwrap();
        let place = Arc::new(Place {
            socket: server.socket(),
            database: address.rsplit('/').next().unwrap().to_owned(),
            bucket_port: bucket.endpoint.rsplit(':').next().unwrap().parse().unwrap(),
            bucket,
        });
        let mut replicas = Vec::new();
        for number in 0..plan.replicas.len() {
            replicas.push(Replica::start(Arc::clone(&place), plan, number).await);
        }
        Self { replicas }
    }

    /// Everything of the plan happens, each replica's part in its order, and then nothing any more.
    pub async fn suffer(&self, plan: &Plan) {
        let each = self.replicas.iter().enumerate().map(async |(number, replica)| {
            let mut at = Duration::ZERO;
            let begun = Instant::now();
            for (quiet, disturbance) in &plan.disturbances {
                at += *quiet;
                if disturbance.replica == number {
                    tokio::time::sleep(at.saturating_sub(begun.elapsed())).await;
                    replica.suffer(*disturbance).await;
                }
            }
            replica.calm();
        });
        join_all(each).await;
    }

    /// Asks one replica after the other until one answers; what is asked must do no harm when it is done twice.
    pub async fn ask<T, F>(&self, random: &mut StdRng, what: &str, ask: impl Fn(Service) -> F) -> Answer<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let begun = Instant::now();
        let (mut unknown, mut last) = (0, "no replica was up".to_owned());
        loop {
            assert!(begun.elapsed() < LIMIT, "{what}: nobody answers: {last}");
            let replica = &self.replicas[random.random_range(0..self.replicas.len())];
            if let Some((handle, service)) = replica.service() {
                match tokio::time::timeout(PATIENCE, handle.spawn(ask(service))).await {
                    Ok(Ok(Err(error))) if error.kind() == RefusalKind::Unavailable => {
                        last = error.to_string();
                    }
                    Ok(Ok(Err(Error::Internal { source, .. }))) => panic!("{what}: {source:?}"),
                    Ok(Ok(outcome)) => return Answer { outcome, unknown },
                    Ok(Err(crashed)) => {
                        assert!(crashed.is_cancelled(), "{what}: {crashed}");
                        last = "it crashed".to_owned();
                    }
                    Err(_) => last = "it was silent".to_owned(),
                }
                unknown += 1;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for replica in &self.replicas {
            replica.stop();
        }
    }
}
