//! A release: everything that is shipped, in one folder, with checksums and notes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assisted_oci::{Index, write_archive};

use crate::files::{self, PackageFile};
use crate::image::{Inputs, Kind};
use crate::machine::Machine;
use crate::notes::{Listed, notes};
use crate::sbom::{Crates, Subject};
use crate::signature::Signer;
use crate::tarball::tarball;
use crate::{VERSION, bundle, deb, digest, kustomize, manifest};

/// Files that are given out as they are, but for the name of the service's image.
const TEMPLATES: [(&str, &str, &str); 6] = [
    (
        "assisted.container",
        include_str!("../../../deploy/podman/assisted.container"),
        "a container of systemd: podman's quadlet",
    ),
    (
        "assisted-data.volume",
        include_str!("../../../deploy/podman/assisted-data.volume"),
        "the volume of that",
    ),
    ("assisted.kube.yaml", include_str!("../../../deploy/podman/assisted.kube.yaml"), "`podman kube play`"),
    (
        "bootstrap-components.yaml",
        include_str!("../../../deploy/cluster-api/bootstrap-openshift-assisted/bootstrap-components.yaml"),
        "the bootstrap provider of Cluster API, for `clusterctl`",
    ),
    (
        "control-plane-components.yaml",
        include_str!(
            "../../../deploy/cluster-api/control-plane-openshift-assisted/control-plane-components.yaml"
        ),
        "its control-plane provider",
    ),
    (
        "metadata.yaml",
        include_str!("../../../deploy/cluster-api/bootstrap-openshift-assisted/metadata.yaml"),
        "what `clusterctl` reads of both beside them: their contract",
    ),
];

/// What a release is made of, besides the inputs of images.
pub struct Release<'a> {
    pub inputs: &'a Inputs,
    /// What Cargo says of the crates, by architecture.
    pub crates: &'a BTreeMap<String, Crates>,
    /// The program for this machine: it tells its completion and man pages.
    pub speaks: &'a Path,
    /// The checkout, of which the bases for kustomize are taken.
    pub checkout: &'a Path,
    /// The documentation as a book, built.
    pub book: &'a Path,
    pub signer: Option<&'a Signer>,
    /// What is new, a line each.
    pub changes: &'a str,
}

impl Release<'_> {
    /// Makes all of it in a folder, which is made anew; what is in it.
    ///
    /// # Errors
    /// A program is missing, or nothing can be written.
    pub async fn make(&self, to: &Path) -> Result<Vec<String>> {
        if to.exists() {
            fs::remove_dir_all(to).with_context(|| format!("can't remove {}", to.display()))?;
        }
        fs::create_dir_all(to).with_context(|| format!("can't create {}", to.display()))?;
        let mut folder = Folder { to: to.to_owned(), listed: Vec::new() };
        for kind in Kind::ALL {
            let index = self.inputs.build(kind)?;
            folder.image(
                &index,
                &format!("image-{}", kind.name()),
                &format!("image {}, as an OCI archive", kind.name()),
            )?;
            for (machine, list) in
                self.inputs.machines(kind).iter().zip(lists(self.inputs, kind, self.crates)?)
            {
                let name = format!("image-{}-{}.spdx.json", kind.name(), machine.name);
                folder.put(&name, &list, "what is in that image")?;
            }
        }
        folder.image(
            &bundle::image(self.inputs)?,
            "image-bundle",
            "the operator for OLM, as an OCI archive",
        )?;
        for machine in self.inputs.machines(Kind::Service) {
            self.packages(&machine, &mut folder).await?;
        }
        for machine in self.inputs.machines(Kind::Agent) {
            let program = self.inputs.program(&machine, Kind::Agent.program()).unwrap_or_default();
            let content = fs::read(&program).with_context(|| format!("can't read {}", program.display()))?;
            let meaning = format!("the program for {} hosts", machine.name);
            folder.put(&format!("assisted-host-{}", machine.name), &content, &meaning)?;
        }
        let hub = manifest::hub(&self.inputs.name(Kind::Service))?;
        folder.put(
            "assisted-operator.yaml",
            hub.as_bytes(),
            "`kubectl apply --server-side -f`: the operator of a hub",
        )?;
        for (name, text, meaning) in TEMPLATES {
            let text = text.replace(&Kind::Service.default_name(), &self.inputs.name(Kind::Service));
            folder.put(name, text.as_bytes(), meaning)?;
        }
        let bases = kustomize::bases(self.checkout, &self.inputs.name(Kind::Service))?;
        let meaning = "bases for kustomize, of the operator and of the service alone: `kubectl apply -k`";
        self.archive("kustomize", &bases, meaning, &mut folder)?;
        let book = files::below(self.book)?;
        self.archive("book", &book, "the documentation, to browse: open `index.html`", &mut folder)?;
        self.finish(folder)
    }

    async fn packages(&self, machine: &Machine, folder: &mut Folder) -> Result<()> {
        let files = files::package_files(self.inputs, machine, self.speaks).await?;
        let meaning = "program, unit, completion, man pages: `tar -xzf FILE -C / --strip-components=1`";
        self.archive(&format!("linux-{}", machine.name), &files, meaning, folder)?;
        folder.put(
            &deb::file_name(machine),
            &deb::package(&files, machine, self.inputs.packing)?,
            "the same for Debian",
        )
    }

    /// Puts files into an archive, in which all stand below one folder of its name.
    fn archive(&self, what: &str, files: &[PackageFile], meaning: &str, folder: &mut Folder) -> Result<()> {
        let name = format!("assisted-{VERSION}-{what}");
        folder.put(&format!("{name}.tar.gz"), &tarball(files, &name, self.inputs.packing)?, meaning)
    }

    /// Notes, checksums and their signature come last.
    fn finish(&self, mut folder: Folder) -> Result<Vec<String>> {
        let text = notes(self.inputs, &folder.listed, self.changes, self.signer.is_some());
        folder.put("NOTES.md", text.as_bytes(), "")?;
        if let Some(signer) = self.signer {
            folder.put("assisted.pub", signer.public_pem()?.as_bytes(), "")?;
        }
        let mut names: Vec<_> = folder.listed.iter().map(|file| file.name.clone()).collect();
        names.sort();
        let mut sums = String::new();
        for name in &names {
            sums.push_str(&format!("{}  {name}\n", digest::of_file(&folder.to.join(name))?));
        }
        fs::write(folder.to.join("SHA256SUMS"), &sums)?;
        names.push("SHA256SUMS".to_owned());
        if let Some(signer) = self.signer {
            fs::write(folder.to.join("SHA256SUMS.sig"), signer.sign(sums.as_bytes()) + "\n")?;
            names.push("SHA256SUMS.sig".to_owned());
        }
        Ok(names)
    }
}

/// What is in an image, for each architecture that it is made for.
///
/// # Errors
/// Cargo has told nothing of a program.
pub fn lists(inputs: &Inputs, kind: Kind, crates: &BTreeMap<String, Crates>) -> Result<Vec<Vec<u8>>> {
    let list = |machine: &Machine| {
        let known = crates.get(machine.name);
        let known = known.with_context(|| format!("nothing is known of the crates for {}", machine.name))?;
        known.list(&Subject {
            name: &format!("assisted {} for {}", kind.name(), machine.name),
            root: kind.program(),
            created: &inputs.created,
            others: &inputs.others(kind, machine)?,
        })
    };
    inputs.machines(kind).iter().map(list).collect()
}

/// The folder of a release, and what is in it.
struct Folder {
    to: PathBuf,
    listed: Vec<Listed>,
}

impl Folder {
    fn put(&mut self, name: &str, content: &[u8], meaning: &str) -> Result<()> {
        let path = self.to.join(name);
        fs::write(&path, content).with_context(|| format!("can't write {}", path.display()))?;
        self.list(name, content.len() as u64, meaning);
        Ok(())
    }

    fn image(&mut self, index: &Index, name: &str, meaning: &str) -> Result<()> {
        let name = format!("{name}.oci.tar");
        let path = self.to.join(&name);
        let file = File::create(&path).with_context(|| format!("can't write {}", path.display()))?;
        write_archive(index, VERSION, &file)?;
        self.list(&name, file.metadata()?.len(), meaning);
        Ok(())
    }

    fn list(&mut self, name: &str, size: u64, meaning: &str) {
        self.listed.push(Listed { name: name.to_owned(), size, meaning: meaning.to_owned() });
    }
}
