//! `assisted serve`: the service with its database and files, until it is told to stop.

mod environment;
pub(crate) mod files;
pub(crate) mod identity;
mod images;
#[cfg(feature = "kubernetes")]
mod kube;
#[cfg(not(feature = "kubernetes"))]
#[path = "serve/no_kube.rs"]
mod kube;
pub(crate) mod lock;
pub(crate) mod log;
mod reached;
pub(crate) mod secrets;
pub(crate) mod storage;
mod traces;
pub(crate) mod up;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assisted_api::Api;
use assisted_auth::{Grant, Signer};
use assisted_config::{AuthType, Http, SIMULATION, Settings};
use assisted_service::{Service, generator};
use clap::Args;
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::listener::{address, bind, port, raise_file_limit, tls};
use crate::signals::{StopSignals, stopping};
pub(crate) use environment::page as environment_page;
use reached::Reached;
use secrets::Secrets;
use storage::{Opened, StorageArgs};

/// Hosts may wait in a pool for weeks before they are used; their tokens must last as long.
const TOKEN_LIFE: Duration = Duration::from_secs(90 * 24 * 3600);

/// Run the service
///
/// Flags win over environment variables; without any, the service listens on loopback and keeps everything in a folder.
#[derive(Args, Debug)]
pub struct Serve {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, env = "ASSISTED_LISTEN", default_value = "127.0.0.1:8090", value_name = "IP:PORT", value_parser = address)]
    listen: SocketAddr,
    /// Port to listen on, in the place of that of --listen
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    #[command(flatten)]
    storage: StorageArgs,
    /// Let everyone who reaches the address do everything: listen beyond loopback without authentication
    #[arg(long, env = "ASSISTED_ALLOW_UNAUTHENTICATED")]
    allow_unauthenticated: bool,
    /// What generates the files that hosts are installed with: openshift, or simulation, for simulated hosts only
    /// [default: GENERATOR, else openshift]
    #[arg(long)]
    generator: Option<String>,
    #[command(flatten)]
    images: images::ImageFlags,
    /// How `assisted up` differs.
    #[arg(skip)]
    up: Option<Reached>,
}

impl Serve {
    /// Runs the service until SIGTERM or SIGINT.
    pub fn run(self) -> Result<()> {
        let flag = |name: &str| if name == "GENERATOR" { self.generator.clone() } else { None };
        let default = |name: &str| self.up.as_ref().and_then(|up| up.default(name));
        let get = |name: &str| flag(name).or_else(|| std::env::var(name).ok()).or_else(|| default(name));
        let settings = Settings::from_env(&get)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let collector = traces::provider(&settings.telemetry, runtime.handle())?;
        let http = &settings.http;
        log::start_with("LOG_LEVEL", &http.log_level, &http.log_format, collector.as_ref())?;
        environment::report();
        raise_file_limit();
        let served = runtime.block_on(self.serve(settings));
        // What is left to be sent needs the runtime.
        if let Some(Err(error)) = collector.map(|collector| collector.shutdown()) {
            tracing::debug!(%error, "the last traces are lost");
        }
        served
    }

    async fn serve(mut self, mut settings: Settings) -> Result<()> {
        if let Some(port) = self.port {
            self.listen.set_port(port);
        }
        want_https(&mut settings.http);
        kube::check(&settings)?;
        let hub = kube::connect(&settings).await?;
        let (listen, scripts) = self.addresses(&settings.http)?;
        let image_address = self.images.address(&settings, listen);
        self.check_addresses(&settings, listen, scripts, image_address)?;
        let data_dir = self.make_data_dir(&settings.http)?;
        let Opened { store, blob, secrets, lock: _lock } = self.storage.open(&settings, &data_dir).await?;

        let tls = tls(&settings.http)?;
        let (listener, scripts) = bind_all(listen, scripts).await?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        if let Some(up) = &self.up {
            up.set_base_url(&mut settings.http, scheme, listener.local_addr()?);
        }
        let images = match image_address {
            Some(address) => Some(self.images.bind(address, &mut settings, &data_dir).await?),
            None => None,
        };
        let signer = identity::signer(&mut settings.auth, &data_dir, &secrets.keys, &store).await?;
        let generator = generator::open(&settings, &data_dir)
            .context("clusters can't be installed with these settings")?;
        let mut builder = Service::builder(settings.clone(), store, blob, generator)?
            .data_dir(&data_dir)?
            .keys(secrets.keys.clone());
        if let Some(signer) = signer {
            builder = builder.signer(Arc::new(move |grant| token(&signer, grant)));
        }
        if let Some(catalogue) = assisted_service::catalogue::open(&settings, &data_dir)? {
            builder = builder.catalogue(catalogue);
        }
        let (service, mut background) = builder.start();
        let api = Api::new(service.clone(), &settings)?.with_ui(assisted_ui::answer);
        api.start().await?;
        let address = listener.local_addr()?;
        tracing::info!(%address, https = tls.is_some(), replica = settings.http.pod_name, data_dir = %data_dir.display(), "serving");

        let (stop, stopped) = watch::channel(false);
        let mut servers = JoinSet::new();
        follow(&secrets, &stopped, &mut servers);
        if let Some(images) = images {
            images.start(&api, address, &stopped, &mut servers).await?;
        }
        if let Some(listener) = scripts {
            let (api, until) = (api.clone().ipxe_only(), stopping(&stopped));
            servers.spawn(async move { Ok(assisted_api::server::serve(listener, None, api, until).await?) });
        }
        let mut signals = StopSignals::new()?;
        self.announce(&settings, &api, scheme, address).await?;
        let until = stopping(&stopped);
        servers.spawn(async move { Ok(assisted_api::server::serve(listener, tls, api, until).await?) });

        if let Some(client) = hub {
            kube::start(&settings, client, service, &stopped, &mut servers);
        }
        tokio::select! {
            () = signals.recv() => {}
            Some(ended) = servers.join_next() => {
                ended??;
                bail!("a listener ended")
            }
            failed = background.failed() => bail!("a background task ended: {failed:?}"),
        }
        stop.send_replace(true);
        while let Some(ended) = servers.join_next().await {
            ended??;
        }
        background.stop().await;
        tracing::info!("stopped");
        Ok(())
    }

    /// The data folder, which is made if it is not there.
    fn make_data_dir(&self, http: &Http) -> Result<PathBuf> {
        let data_dir = self.storage.data_dir(&http.work_dir)?;
        std::fs::create_dir_all(&data_dir).with_context(|| {
            format!("the data folder {} can't be made; choose one with --data-dir", data_dir.display())
        })?;
        Ok(data_dir)
    }

    /// Refuses addresses at which anyone could do anything, and those that don't go together.
    fn check_addresses(
        &self,
        settings: &Settings,
        listen: SocketAddr,
        scripts: Option<SocketAddr>,
        images: Option<SocketAddr>,
    ) -> Result<()> {
        let open = settings.auth.auth_type == AuthType::None && !self.allow_unauthenticated;
        for address in [Some(listen), scripts, images].into_iter().flatten() {
            if open && !address.ip().is_loopback() {
                bail!(
                    "{address} can be reached from other machines and AUTH_TYPE is none: anyone could do anything. \
                     Listen on 127.0.0.1, set AUTH_TYPE=users, by which people log in, or AUTH_TYPE=local with its keys, or give \
                     --allow-unauthenticated"
                );
            }
        }
        if scripts.is_some() && images.is_some() {
            bail!(
                "HTTP_LISTEN_PORT beside HTTPS needs an image service that speaks plain HTTP, too: run `assisted image-service` \
                 with an HTTP_LISTEN_PORT of its own, and say by IMAGE_SERVICE_BASE_URL where it is"
            );
        }
        Ok(())
    }

    /// Tells whoever started it on a free port where it is, and how the first person logs in: everything can be asked from here on.
    async fn announce(
        &self,
        settings: &Settings,
        api: &Api,
        scheme: &str,
        address: SocketAddr,
    ) -> Result<()> {
        let simulated = settings.generation.is_simulated();
        if simulated {
            tracing::warn!("{SIMULATION}");
        }
        // Who runs `assisted up` has chosen the one address by the other.
        let unreachable = if self.up.is_none() { reached::unreachable(settings, address) } else { None };
        if let Some(told) = unreachable {
            tracing::warn!("{told}");
        }
        let url = &format!("{scheme}://{address}");
        report(&format!("listening on {url}"));
        if simulated {
            report(SIMULATION);
        }
        let code = api.setup_code().await?;
        match (&self.up, code) {
            (Some(_), code) => report(&reached::invitation(&settings.http.service_base_url, code.as_ref())),
            (None, Some(code)) => report(&identity::invitation(&code, url)),
            (None, None) => {}
        }
        Ok(())
    }

    /// Where the API is served, and where iPXE scripts are served besides: without HTTPS a port for plain HTTP takes the place
    /// of the listener's own (image-service §1.1).
    fn addresses(&self, http: &Http) -> Result<(SocketAddr, Option<SocketAddr>)> {
        if http.http_listen_port.is_empty() {
            return Ok((self.listen, None));
        }
        let port = port("HTTP_LISTEN_PORT", &http.http_listen_port, 0)?;
        let plain = SocketAddr::new(self.listen.ip(), port);
        Ok(if http.serve_https { (self.listen, Some(plain)) } else { (plain, None) })
    }
}

/// Whoever names certificate and key wants them used, as the replaced service does.
fn want_https(http: &mut Http) {
    http.serve_https |= !http.https_cert_file.is_empty() && !http.https_key_file.is_empty();
}

/// Listens where the API is served, and where iPXE scripts are served besides.
async fn bind_all(
    listen: SocketAddr,
    scripts: Option<SocketAddr>,
) -> Result<(TcpListener, Option<TcpListener>)> {
    let listener = bind(listen)
        .await
        .with_context(|| format!("can't listen on {listen}; choose another address with --listen"))?;
    let scripts = match scripts {
        Some(address) => Some(bind(address).await.with_context(|| {
            format!("can't listen on {address}; choose another port with HTTP_LISTEN_PORT")
        })?),
        None => None,
    };
    Ok((listener, scripts))
}

/// Follows changes of the keys that secrets are sealed with, until the service stops.
fn follow(secrets: &Secrets, stopped: &watch::Receiver<bool>, servers: &mut JoinSet<Result<()>>) {
    let (following, until) = (secrets.follow(), stopping(stopped));
    servers.spawn(async move {
        tokio::select! {
            () = following => {}
            () = until => {}
        }
        Ok(())
    });
}

/// Prints a line for whoever started the service.
fn report(line: &str) {
    if let Err(error) = writeln!(std::io::stdout(), "{line}") {
        tracing::debug!(%error, "nobody reads the output");
    }
}

/// Tokens expire at full days only: what carries one has the same bytes for a day, so that pieces of an image that are
/// fetched apart fit together.
fn token(signer: &Signer, grant: Grant) -> Option<String> {
    const DAY: i64 = 24 * 3600;
    let until =
        (Timestamp::now() + TOKEN_LIFE).as_second().div_euclid(DAY).saturating_add(1).saturating_mul(DAY);
    let until = Timestamp::from_second(until).unwrap_or(Timestamp::MAX);
    match signer.token(grant, until) {
        Ok(token) => Some(token.expose().to_owned()),
        Err(error) => {
            tracing::error!(%error, "a token can't be made");
            None
        }
    }
}
