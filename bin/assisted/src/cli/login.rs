//! `assisted login`, `assisted logout`, and how passwords are asked for.

use std::io::{BufRead, IsTerminal, Write};

use assisted_client::{Kept, Logins};
use assisted_wire::identity::{LoginParams, SetUpParams};
use assisted_wire::secret::Secret;
use clap::Args;

use super::common::Context;
use assisted_console::Failure;
use assisted_console::output::line;

#[derive(Args, Debug)]
pub struct Login {
    /// Name of the user
    #[arg(long, env = "ASSISTED_USER")]
    name: String,
    /// Make the first administrator, by the code that `assisted serve` has printed at its start
    #[arg(long, value_name = "CODE")]
    setup: Option<String>,
}

impl Login {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { name, setup } = self;
        let login = match setup {
            Some(code) => {
                let password = new_password("Password")?;
                context
                    .client
                    .set_up(&SetUpParams { code: code.into(), name, password, cookie: false })
                    .await?
            }
            None => {
                let password = password("Password")?;
                context.client.login(&LoginParams { name, password, cookie: false }).await?
            }
        };
        let (user, role) = (login.user.name.clone(), login.user.role.as_str());
        let kept =
            Kept { user: login.user.name, token: login.token, expires_at: login.expires_at.to_string() };
        let logins = Logins::of_user().map_err(refused)?;
        logins.keep(context.client.base_url(), kept).map_err(refused)?;
        line(&format!(
            "logged in as {user}, {role}, until {}",
            login.expires_at.strftime("%Y-%m-%d %H:%M UTC")
        ))
    }
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
