//! Orders that somebody else gives, in a browser for example: the lab has the room, the network and the machines, and looks on.

use super::{DOMAIN, Lab, LabError, NAME, Phase, heading, machines, payload, people, say, service};
use crate::network::{API_VIP, INGRESS_VIP};

impl Lab {
    /// Waits for the image that machines are to boot.
    pub(super) fn await_image(&mut self) -> Result<(), LabError> {
        heading("The release");
        self.begins("the release comes into the registry");
        // Whoever gives the orders installs as soon as that is possible.
        self.await_kubernetes()?;
        payload::push(&self.plan, &self.network)?;
        heading("A cluster and an infra-env, by hand");
        self.begins("a cluster is made by hand");
        let secret = service::pull_secret(&self.plan.dir, self.image_registry.as_ref())?;
        let image = self.plan.dir.join(machines::ISO);
        say(&format!(
            "Log in at {} as {}, with the password in the lab's folder ({}). Make the cluster {NAME}.{DOMAIN} with the pull \
             secret that is there ({secret}), and move its discovery image to {}: machines boot it then. Have them installed, \
             with {API_VIP} for the API and {INGRESS_VIP} for Ingress.",
            service::URL,
            people::NAME,
            people::PASSWORD,
            image.display()
        ));
        let mut wait = self.wait_for(&format!("the image {}", image.display()), self.plan.limit);
        while !image.is_file() {
            self.pause()?;
            wait.go_on()?;
        }
        Ok(())
    }

    /// Has machines boot that image, and follows what is made of them.
    pub(super) fn run_by_hand(&mut self) -> Result<(), LabError> {
        heading("Machines boot the discovery image");
        self.begins("machines boot, are discovered and checked");
        for number in self.numbers(false) {
            self.power_on(number)?;
        }
        self.watch("installing")?;
        self.phase = Phase::Installing;
        self.watch("installed")?;
        self.phase = Phase::Installed;
        self.show_cluster()
    }
}
