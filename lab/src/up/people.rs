//! The people of the lab's service: its first user, an administrator, and an editor to whom the cluster belongs.

use std::fs::File;

use uuid::Uuid;

use super::{Lab, LabError, NAME as CLUSTER, say, write_secret};

/// The administrator.
pub(super) const NAME: &str = "admin";
/// The administrator's password, in the lab's folder: for whoever wants to log in from elsewhere.
pub(super) const PASSWORD: &str = "password";
const EDITOR: &str = "editor";
const EDITOR_PASSWORD: &str = "editor-password";
/// Where the editor's token is kept, in the lab's folder.
pub(super) const EDITOR_CONFIG: &str = "editor-config";
/// A token of the editor's that opens the cluster and nothing else, in the lab's folder.
const INSTALL_TOKEN: &str = "install-token";

impl Lab {
    /// Becomes the administrator by the code that the service has printed at its first start, and lets an editor in. The tokens
    /// of both stay in the lab's folder.
    pub(super) fn log_in(&self) -> Result<(), LabError> {
        if self.plan.hub.is_some() {
            // The service asks nobody who they are.
            return Ok(());
        }
        let code = self.service.set_up_code()?;
        self.make_password(PASSWORD)?;
        say(&format!("\n$ assisted login --setup CODE --name {NAME}"));
        self.cli.run(&["login", "--setup", &code, "--name", NAME], self.password(PASSWORD)?)?;
        self.make_password(EDITOR_PASSWORD)?;
        say(&format!("\n$ assisted user add {EDITOR} --role editor"));
        self.cli.run(&["user", "add", EDITOR, "--role", "editor"], self.password(EDITOR_PASSWORD)?)?;
        say(&format!("\n$ assisted login --name {EDITOR}"));
        self.editor.run(&["login", "--name", EDITOR], self.password(EDITOR_PASSWORD)?)
    }

    fn make_password(&self, name: &str) -> Result<(), LabError> {
        write_secret(&self.plan.dir.join(name), &format!("{}\n", Uuid::new_v4()))
    }

    fn password(&self, name: &str) -> Result<File, LabError> {
        let path = self.plan.dir.join(name);
        File::open(&path).map_err(LabError::io(&path))
    }

    /// Makes the token that the cluster is installed with.
    pub(super) fn make_install_token(&self) -> Result<(), LabError> {
        let words = ["token", "create", "install", "--cluster", CLUSTER];
        say(&format!("\n$ assisted {}", words.join(" ")));
        let made = self.editor.json(&words)?;
        write_secret(&self.plan.dir.join(INSTALL_TOKEN), made["token"].as_str().unwrap_or_default())
    }

    /// Has the cluster installed by somebody who has that token, and nothing else.
    pub(super) fn order_installation(&self) -> Result<(), LabError> {
        self.cli.show_with_token(INSTALL_TOKEN, &["cluster", "install", CLUSTER])
    }
}
