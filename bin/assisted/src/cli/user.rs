//! `assisted user …`

use assisted_wire::identity::{NewUser, PasswordChange, PersonRole, User, UserChange};
use clap::{Args, Subcommand};

use super::common::Context;
use super::login::{new_password, password};
use assisted_console::Failure;
use assisted_console::output::{line, show, table};

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Add a user; the password is asked for, or read from standard input
    Add(Add),
    /// List users
    List,
    /// Change a user's role, organisation or e-mail address; all sessions of the user end
    Update(Update),
    /// Give yourself another password, or as an administrator somebody else; all sessions and tokens of the user end
    Passwd {
        /// Name of the user [default: yourself]
        name: Option<String>,
    },
    /// Remove a user; what the user has made stays
    Remove { name: String },
}

#[derive(Args, Debug)]
pub struct Add {
    name: String,
    /// What the user may do
    #[arg(long, value_parser = role, default_value = "viewer", value_name = "viewer|editor|admin")]
    role: PersonRole,
    /// Organisation: its users see what the others of it have made
    #[arg(long, default_value = "")]
    organisation: String,
    #[arg(long, default_value = "")]
    email: String,
}

#[derive(Args, Debug)]
pub struct Update {
    name: String,
    /// What the user may do
    #[arg(long, value_parser = role, value_name = "viewer|editor|admin")]
    role: Option<PersonRole>,
    #[arg(long)]
    organisation: Option<String>,
    #[arg(long)]
    email: Option<String>,
}

impl Command {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let client = &context.client;
        let display = |users: Vec<User>| show(context.format, &users, |users| overview(users));
        match self {
            Self::Add(Add { name, role, organisation, email }) => {
                let password = new_password("Password of the new user")?;
                let new = NewUser { name, password, role, organisation, email };
                display(vec![client.add_user(&new).await?])
            }
            Self::List => display(client.list_users().await?),
            Self::Update(Update { name, role, organisation, email }) => {
                let change = UserChange { password: None, role, organisation, email };
                display(vec![client.change_user(&name, &change).await?])
            }
            Self::Passwd { name: Some(name) } => {
                let change =
                    UserChange { password: Some(new_password("New password")?), ..UserChange::default() };
                client.change_user(&name, &change).await?;
                line(&format!("{name} has another password"))
            }
            Self::Passwd { name: None } => {
                let (old_password, password) = (password("Password")?, new_password("New password")?);
                client.change_own_password(&PasswordChange { old_password, password }).await?;
                line("you have another password; log in anew")
            }
            Self::Remove { name } => {
                client.remove_user(&name).await?;
                line(&format!("removed {name}"))
            }
        }
    }
}

/// The role of a name.
pub fn role(name: &str) -> Result<PersonRole, String> {
    PersonRole::parse(name).ok_or_else(|| "give viewer, editor or admin".to_owned())
}

fn overview(users: &[User]) -> String {
    let rows = users.iter().map(|user| {
        [user.name.clone(), user.role.as_str().to_owned(), user.organisation.clone(), user.email.clone()]
    });
    table(["NAME", "ROLE", "ORGANISATION", "EMAIL"], rows)
}
