//! `assisted token …`

use assisted_config::parse_duration;
use assisted_wire::identity::{ApiToken, NewToken, PersonRole, Scope, TokenResource};
use clap::{Args, Subcommand};

use super::common::Context;
use super::user::role;
use assisted_console::Failure;
use assisted_console::output::{Format, line, show, table};

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Create a token, and print it: it is shown nowhere else
    Create(Create),
    /// List tokens
    List,
    /// Revoke a token
    Revoke {
        /// Id, or name
        #[arg(value_name = "TOKEN")]
        revoked: String,
    },
}

#[derive(Args, Debug)]
pub struct Create {
    /// By which you recognise it
    name: String,
    /// How long it is good, such as 12h or 720h
    #[arg(long, default_value = "720h", value_name = "DURATION")]
    expires: String,
    /// The most that it may do [default: what you may]
    #[arg(long, value_parser = role, value_name = "viewer|editor|admin")]
    role: Option<PersonRole>,
    /// The one cluster that it opens (id, beginning of an id, or name)
    #[arg(long, conflicts_with = "infra_env")]
    cluster: Option<String>,
    /// The one infra-env that it opens (id, beginning of an id, or name)
    #[arg(long)]
    infra_env: Option<String>,
}

impl Command {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let client = &context.client;
        match self {
            Self::Create(create) => {
                let made = client.create_token(&create.params(context).await?).await?;
                match (context.format, &made.token) {
                    (Format::Table, Some(token)) => line(token.expose()),
                    _ => show(context.format, &made, |_| String::new()),
                }
            }
            Self::List => show(context.format, &client.list_tokens().await?, |tokens| overview(tokens)),
            Self::Revoke { revoked } => {
                let tokens = client.list_tokens().await?;
                let named: Vec<_> = tokens
                    .iter()
                    .filter(|known| known.name == revoked || known.id.to_string() == revoked)
                    .collect();
                let [known] = named.as_slice() else {
                    let text = if named.is_empty() { "no token has" } else { "several tokens have" };
                    return Err(Failure::Refused(format!(
                        "{text} the id or name {revoked:?}; `assisted token list` shows them"
                    )));
                };
                client.revoke_token(known.id).await?;
                line(&format!("revoked {} ({})", known.name, known.id))
            }
        }
    }
}

impl Create {
    async fn params(self, context: &Context) -> Result<NewToken, Failure> {
        let life = parse_duration(&self.expires).map_err(|_| {
            Failure::Usage(format!("--expires {:?}: give a duration such as 720h", self.expires))
        })?;
        let resource = match (&self.cluster, &self.infra_env) {
            (Some(cluster), _) => Some(TokenResource::Cluster(context.cluster(cluster).await?.id)),
            (None, Some(infra_env)) => Some(TokenResource::InfraEnv(context.infra_env(infra_env).await?.id)),
            (None, None) => None,
        };
        Ok(NewToken {
            name: self.name,
            expires_in: life.as_secs(),
            scope: Scope { role: self.role, resource },
        })
    }
}

fn overview(tokens: &[ApiToken]) -> String {
    let rows = tokens.iter().map(|token| {
        let role = token.scope.role.map_or("", PersonRole::as_str).to_owned();
        let opens = match token.scope.resource {
            None => "everything of its user".to_owned(),
            Some(TokenResource::Cluster(id)) => format!("cluster {id}"),
            Some(TokenResource::InfraEnv(id)) => format!("infra-env {id}"),
        };
        let until = token.expires_at.strftime("%Y-%m-%d %H:%M").to_string();
        [token.name.clone(), token.user.clone(), role, opens, until, token.id.to_string()]
    });
    table(["NAME", "USER", "ROLE", "OPENS", "UNTIL", "ID"], rows)
}
