//! `assisted login`, `assisted logout`, and how passwords are asked for.

use std::io::{BufRead, IsTerminal, Write};
use std::time::{Duration, Instant};

use assisted_client::{DeviceAnswer, Logins, StoredToken};
use assisted_wire::identity::{self, DeviceCode, LoginParams, SetUpParams};
use assisted_wire::secret::Secret;
use clap::Args;

use super::common::Context;
use assisted_console::Failure;
use assisted_console::output::line;

#[derive(Args, Debug)]
pub struct Login {
    /// Name of the user, whose password is asked for [default: the identity provider of the service says who you are]
    #[arg(long, env = "ASSISTED_USER")]
    name: Option<String>,
    /// Log in by the identity provider, although a name is set
    #[arg(long, conflicts_with = "setup")]
    device: bool,
    /// Make the first administrator, by the code that `assisted serve` has printed at its start
    #[arg(long, value_name = "CODE", requires = "name")]
    setup: Option<String>,
}

impl Login {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { name, device, setup } = self;
        let login = match (name.filter(|_| !device), setup) {
            (Some(name), Some(code)) => {
                let password = new_password("Password")?;
                context
                    .client
                    .set_up(&SetUpParams { code: code.into(), name, password, cookie: false })
                    .await?
            }
            (Some(name), None) => {
                let password = password("Password")?;
                context.client.login(&LoginParams { name, password, cookie: false }).await?
            }
            (None, _) => by_provider(context).await?,
        };
        let (user, role) = (login.user.name.clone(), login.user.role.as_str());
        let kept = StoredToken {
            user: login.user.name,
            token: login.token,
            expires_at: login.expires_at.to_string(),
        };
        let logins = Logins::of_user().map_err(refused)?;
        logins.keep(context.client.base_url(), kept).map_err(refused)?;
        line(&format!(
            "logged in as {user}, {role}, until {}",
            login.expires_at.strftime("%Y-%m-%d %H:%M UTC")
        ))
    }
}

/// A person agrees in any browser; until then it is asked for now and again.
async fn by_provider(context: &Context) -> Result<identity::Login, Failure> {
    let begun = context.client.device_login().await?;
    let place = begun.verification_uri_complete.as_ref().unwrap_or(&begun.verification_uri);
    let mut screen = std::io::stderr();
    writeln!(screen, "open {place} and confirm the code {}", begun.user_code)
        .map_err(|error| Failure::Usage(format!("nobody can read where to log in: {error}")))?;
    let until = Instant::now() + Duration::from_secs(begun.expires_in);
    let mut interval = Duration::from_secs(begun.interval.max(1));
    let code = DeviceCode { device_code: begun.device_code };
    while Instant::now() < until {
        tokio::time::sleep(interval).await;
        match context.client.device_finish(&code).await? {
            DeviceAnswer::In(login) => return Ok(*login),
            DeviceAnswer::Pending(pending) => interval += Duration::from_secs(pending.slower.min(60)),
        }
    }
    Err(refused("nobody has confirmed the code in time; log in anew"))
}

/// Ends the session, here and at the service.
pub async fn logout(context: &Context) -> Result<(), Failure> {
    let ended = context.client.logout().await;
    Logins::of_user().map_err(refused)?.forget(context.client.base_url()).map_err(refused)?;
    ended?;
    line("logged out")
}

fn refused(error: impl std::fmt::Display) -> Failure {
    Failure::Refused(error.to_string())
}

/// A password: the first line of what is piped in, or typed without being shown.
pub fn password(prompt: &str) -> Result<Secret, Failure> {
    let told = |error: std::io::Error| Failure::Usage(format!("the password can't be read: {error}"));
    if !std::io::stdin().is_terminal() {
        let mut text = String::new();
        std::io::stdin().lock().read_line(&mut text).map_err(told)?;
        let text = Secret::from(text);
        return Ok(text.expose().trim_end_matches(['\r', '\n']).into());
    }
    let mut screen = std::io::stderr();
    write!(screen, "{prompt}: ").and_then(|()| screen.flush()).map_err(told)?;
    Ok(rpassword::read_password().map_err(told)?.into())
}

/// A password that is chosen; where it is typed, twice.
pub fn new_password(prompt: &str) -> Result<Secret, Failure> {
    let chosen = password(prompt)?;
    if std::io::stdin().is_terminal() && password("Again")? != chosen {
        return Err(Failure::Usage("the two are not the same".to_owned()));
    }
    Ok(chosen)
}
