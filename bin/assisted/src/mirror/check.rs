//! Whether the mirrors have what an installation takes: each image is asked for where it will be pulled from.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use assisted_console::output::{bytes, show, table};
use assisted_console::{Failure, Global};
use assisted_core::policy::Versions;
use assisted_imageserver::Probe;
use assisted_release::mirror::{Mirrors, Source};
use assisted_release::{AvailabilityChecker, Bundle, Depth, Reference, Retry, Session, Wanted};
use assisted_service::generator::openshift::RegistryAccess;
use assisted_wire::cluster_params::CpuArchitecture;
use clap::Args;
use futures::{StreamExt, stream};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::plan::{NeededFile, Plan, Puller};
use super::selection::SelectionArgs;
use super::{access, settings};
use crate::cli::progress;
use crate::image_options::{Fetch, When};

/// A registry is asked so often before it counts as one that does not answer.
const RETRY: Retry =
    Retry { attempts: 3, first: Duration::from_millis(500), longest: Duration::from_secs(10) };

/// Check whether the mirrors have what an installation takes
///
/// Each image is asked for by its digest where it will be pulled from: the mirrors of REGISTRIES_CONF_FILE, for clusters those of them that
/// take digests. Which images operators are made of is read from the catalogues in the mirrors; nothing else is fetched, and registries that are no mirrors are not asked. Exit code 1 says that something is missing.
#[derive(Args, Debug)]
pub struct Check {
    #[command(flatten)]
    selection: SelectionArgs,
    /// A plan that `assisted mirror plan -o json` made elsewhere, instead of one that is made now
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cluster", "openshift_version", "release_image", "operators"])]
    plan: Option<PathBuf>,
    /// Take what is in no mirror, but at its own place; that is asked then
    #[arg(long)]
    allow_source: bool,
    /// A registry that is one of the mirrors, though no rule says so
    #[arg(long = "mirror", value_name = "HOST[:PORT]")]
    mirrors: Vec<String>,
    /// Ask for each layer of each image, too
    #[arg(long)]
    layers: bool,
    /// Show what is there, too
    #[arg(long)]
    all: bool,
    /// Images asked for at a time
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    parallel: u16,
    /// Seconds after which nothing more is asked
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    time_limit: u64,
    #[command(flatten)]
    fetch: Fetch,
}

/// Where something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// A mirror has it, where it will be looked for.
    Mirrored,
    /// Only its own place has it.
    Source,
    /// It lies beside the release, where this service finds it and hosts don't.
    BesideRelease,
    /// No mirror is asked for it.
    NoMirror,
    Missing,
    /// The time was over.
    NotAsked,
}

#[derive(Serialize)]
struct Row {
    name: String,
    /// Of an image its name, of a file its address.
    what: String,
    state: State,
    /// Whether an installation finds it.
    ok: bool,
    /// Where it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// Why it is not ok, and what helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Serialize)]
struct Report {
    version: String,
    release: String,
    images: Vec<Row>,
    catalogues: Vec<Row>,
    /// What the operators are made of.
    operators: Vec<Row>,
    /// What was not looked for, and why.
    not_covered: Vec<String>,
    files: Vec<Row>,
    /// Whether an installation finds everything.
    complete: bool,
}

impl Check {
    pub(super) async fn run(self, global: &Global) -> Result<(), Failure> {
        let settings = settings()?;
        let access = access(&settings, RETRY)?;
        let plan = match &self.plan {
            Some(path) => kept(path)?,
            None => self.selection.plan(&settings, &access, global).await?,
        };
        let report = self.check(&plan, &access).await?;
        show(global.output, &report, |report| report.table(self.all))?;
        match report.complete {
            true => Ok(()),
            false => Err(Failure::Refused("the mirrors do not have everything".to_owned())),
        }
    }

    async fn check(&self, plan: &Plan, access: &RegistryAccess) -> Result<Report, Failure> {
        let session = access.registries.session(self.selection.pull_secret()?);
        let reader = session.clone();
        let depth = if self.layers { Depth::Layers } else { Depth::Manifest };
        let release = parse(&plan.release)?;
        let checked = Checked {
            checker: AvailabilityChecker::new(session, depth, plan.architectures.clone()),
            mirrors: access.registries.mirrors(),
            local: self.local(access),
            beside: access.release_mirror.as_ref().unwrap_or(&release).clone(),
            allow_source: self.allow_source,
            until: Instant::now() + Duration::from_secs(self.time_limit),
        };
        let probe = Probe::new(
            &self.fetch.options(When::Lazy).map_err(|error| Failure::Usage(format!("{error:#}")))?,
        )
        .map_err(Failure::refused)?;
        let bar = progress::count(plan.images.len() + plan.catalogues.len() + plan.files.len());
        let at_once = usize::from(self.parallel);
        let images = plan.images.iter().map(|needed| async {
            let wanted = parse(&needed.image)?;
            let row = checked.image(&needed.name, &wanted, needed.pulled_by, needed.is_component).await;
            bar.inc(1);
            Ok(row)
        });
        let images: Vec<Result<Row, Failure>> = stream::iter(images).buffered(at_once).collect().await;
        let catalogues = plan.catalogues.iter().map(|catalogue| async {
            let row = checked.catalogue(&catalogue.name, &parse(&catalogue.image)?).await;
            bar.inc(1);
            Ok(row)
        });
        let catalogues: Vec<Result<Row, Failure>> =
            stream::iter(catalogues).buffered(at_once).collect().await;
        let catalogues = catalogues.into_iter().collect::<Result<Vec<_>, _>>()?;
        let (operators, not_covered) = checked.operators(plan, &catalogues, &reader, at_once).await?;
        let mut files = Vec::new();
        for file in &plan.files {
            files.push(checked.file(&probe, file).await);
            bar.inc(1);
        }
        bar.finish_and_clear();
        let images = images.into_iter().collect::<Result<Vec<_>, _>>()?;
        let complete = images.iter().chain(&catalogues).chain(&operators).chain(&files).all(|row| row.ok);
        let (version, release) = (plan.version.clone(), plan.release.clone());
        Ok(Report { version, release, images, catalogues, operators, not_covered, files, complete })
    }

    /// Registries that are mirrors.
    fn local(&self, access: &RegistryAccess) -> BTreeSet<String> {
        let rules = access.registries.mirrors().rules().iter();
        let registry = |location: &str| location.split('/').next().unwrap_or_default().to_owned();
        let of_rules = rules.flat_map(|rule| rule.mirrors.iter().map(|mirror| registry(&mirror.location)));
        let of_release = access.release_mirror.iter().map(|mirror| mirror.repository.registry.clone());
        of_rules.chain(of_release).chain(self.mirrors.iter().cloned()).collect()
    }
}

fn kept(path: &std::path::Path) -> Result<Plan, Failure> {
    let text = assisted_console::file(path)?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::Usage(format!("{} is no plan of `assisted mirror plan -o json`: {error}", path.display()))
    })
}

fn parse(image: &str) -> Result<Reference, Failure> {
    image.parse().map_err(Failure::refused)
}

/// A check that is under way.
struct Checked<'a> {
    checker: AvailabilityChecker,
    mirrors: &'a Mirrors,
    /// Registries that are mirrors.
    local: BTreeSet<String>,
    /// Beside which image the parts of the release may lie.
    beside: Reference,
    allow_source: bool,
    until: Instant,
}

/// What came of asking.
enum Found {
    At(Reference),
    Nowhere(String),
    NotAsked,
}

impl Checked<'_> {
    async fn image(&self, name: &str, wanted: &Reference, by: Puller, is_component: bool) -> Row {
        // Clusters have mirrors for digests alone.
        let copies = match (by, wanted.digest) {
            (Puller::Cluster, None) => Vec::new(),
            _ => self.mirrors.copies(wanted),
        };
        let row = self.found(name, wanted, copies).await;
        if row.ok || row.state == State::NotAsked {
            return row;
        }
        if let (true, Some(digest)) = (is_component, wanted.digest) {
            let beside = Reference::pinned(self.beside.repository.clone(), digest);
            let mut places = self.mirrors.copies(&beside);
            if self.local.contains(&beside.repository.registry) {
                places.push(self.mirrors.own(&beside));
            }
            if beside.repository != wanted.repository
                && !places.is_empty()
                && let Found::At(at) = self.ask(&beside, places).await
            {
                let why = format!(
                    "hosts look for it under its own name: add a rule for {} with the mirror {}",
                    wanted.repository, at.repository
                );
                return Row { state: State::BesideRelease, at: Some(at.to_string()), why: Some(why), ..row };
            }
        }
        if row.state == State::NoMirror && by == Puller::Cluster && wanted.digest.is_none() {
            let why = "the cluster's mirrors take digests alone, and it is named by a tag: name it by digest, or as it is called in the mirror";
            return Row { why: Some(why.to_owned()), ..row };
        }
        row
    }

    /// A catalogue is not pulled under its name where there are mirrors: a CatalogSource names the copy.
    async fn catalogue(&self, name: &str, wanted: &Reference) -> Row {
        self.found(name, wanted, self.mirrors.all_copies(wanted)).await
    }

    /// The images of operators, as the catalogues tell them that were found; and of which operators they could not be told.
    async fn operators(
        &self,
        plan: &Plan,
        found: &[Row],
        session: &Session,
        at_once: usize,
    ) -> Result<(Vec<Row>, Vec<String>), Failure> {
        let (mut needed, mut not_covered) = (Vec::new(), Vec::new());
        for (catalogue, row) in plan.catalogues.iter().zip(found) {
            let wanted: Vec<_> = catalogue
                .packages
                .iter()
                .map(|package| Wanted { package: package.name.clone(), channel: package.channel.clone() })
                .collect();
            let told = match (&row.at, plan.architectures.first()) {
                (Some(at), Some(architecture)) => self.bundles(session, at, *architecture, &wanted).await,
                _ => Err("the catalogue was not found".to_owned()),
            };
            match told {
                Err(why) => {
                    let names: Vec<_> = wanted.iter().map(|one| one.package.as_str()).collect();
                    not_covered.push(format!("images of {}: {why}", names.join(", ")));
                }
                Ok(told) => {
                    for (one, bundles) in wanted.iter().zip(told) {
                        match bundles {
                            Ok(bundles) => needed.extend(bundles),
                            Err(why) => {
                                not_covered
                                    .push(format!("images of {}: in {}: {why}", one.package, row.what));
                            }
                        }
                    }
                }
            }
        }
        let images = needed.iter().flat_map(|bundle| bundle.images.iter().map(|image| (&bundle.name, image)));
        let rows = images.map(|(name, image)| async move {
            Ok(self.image(name, &parse(image)?, Puller::Cluster, false).await)
        });
        let rows: Vec<Result<Row, Failure>> = stream::iter(rows).buffered(at_once).collect().await;
        Ok((rows.into_iter().collect::<Result<_, _>>()?, not_covered))
    }

    /// What a catalogue says of packages, where it was found.
    async fn bundles(
        &self,
        session: &Session,
        at: &str,
        architecture: CpuArchitecture,
        wanted: &[Wanted],
    ) -> Result<Vec<Result<Vec<Bundle>, String>>, String> {
        let at: Reference = at.parse().map_err(|error| format!("{at}: {error}"))?;
        match timeout_at(self.until, session.bundles(&at, architecture, wanted)).await {
            Ok(told) => told.map_err(|error| format!("the catalogue can't be read: {error}")),
            Err(_) => Err(OVER.to_owned()),
        }
    }

    /// Whether an image is in one of its mirrors, else at its own place, where that is a mirror or may be asked.
    async fn found(&self, name: &str, wanted: &Reference, copies: Vec<Source>) -> Row {
        let row = |state, ok, at: Option<Reference>, why| Row {
            name: name.to_owned(),
            what: wanted.to_string(),
            state,
            ok,
            at: at.map(|at| at.to_string()),
            why,
        };
        let mut missing = None;
        if !copies.is_empty() {
            match self.ask(wanted, copies).await {
                Found::At(at) => return row(State::Mirrored, true, Some(at), None),
                Found::NotAsked => return row(State::NotAsked, false, None, Some(OVER.to_owned())),
                Found::Nowhere(why) => missing = Some(why),
            }
        }
        let own = self.mirrors.own(wanted);
        let is_local = self.local.contains(&own.reference.repository.registry);
        if is_local || self.allow_source {
            let state = if is_local { State::Mirrored } else { State::Source };
            match self.ask(wanted, vec![own]).await {
                Found::At(at) => return row(state, true, Some(at), None),
                Found::NotAsked => return row(State::NotAsked, false, None, Some(OVER.to_owned())),
                Found::Nowhere(why) => {
                    missing = Some(missing.map_or(why.clone(), |first| format!("{first}; {why}")));
                }
            }
        }
        match missing {
            Some(why) => row(State::Missing, false, None, Some(why)),
            None => {
                let why = format!(
                    "no rule of REGISTRIES_CONF_FILE names a mirror of {}: add one",
                    wanted.repository
                );
                row(State::NoMirror, false, None, Some(why))
            }
        }
    }

    async fn ask(&self, wanted: &Reference, places: Vec<Source>) -> Found {
        match timeout_at(self.until, self.checker.locate(wanted, places)).await {
            Ok(Ok(at)) => Found::At(at),
            Ok(Err(error)) => Found::Nowhere(error.to_string()),
            Err(_) => Found::NotAsked,
        }
    }

    async fn file(&self, probe: &Probe, file: &NeededFile) -> Row {
        let row =
            |state, ok, at, why| Row { name: file.name.clone(), what: file.url.clone(), state, ok, at, why };
        let Ok(url) = Url::parse(&file.url) else {
            return row(State::Missing, false, None, Some("OS_IMAGES: it is no URL".to_owned()));
        };
        let outside = is_of_vendor(&url);
        if outside && !self.allow_source {
            let why = "it is the vendor's: copy it to a web server, and name the copy in OS_IMAGES";
            return row(State::NoMirror, false, None, Some(why.to_owned()));
        }
        match timeout_at(self.until, probe.length(&url)).await {
            Err(_) => row(State::NotAsked, false, None, Some(OVER.to_owned())),
            Ok(Err(why)) => row(State::Missing, false, None, Some(why)),
            Ok(Ok(length)) => {
                let long = length.and_then(|length| i64::try_from(length).ok()).map(bytes);
                let state = if outside { State::Source } else { State::Mirrored };
                row(state, true, long, None)
            }
        }
    }
}

/// Why nothing was asked.
const OVER: &str = "the time was over: give more with --time-limit";

/// Whether an address is that of the server whose images are built in.
fn is_of_vendor(url: &Url) -> bool {
    let built_in = Versions::default().os_images.0;
    built_in.iter().any(|image| Url::parse(&image.url).is_ok_and(|known| known.host() == url.host()))
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Mirrored => "mirrored",
            Self::Source => "at its source",
            Self::BesideRelease => "beside the release",
            Self::NoMirror => "no mirror",
            Self::Missing => "missing",
            Self::NotAsked => "not asked",
        }
    }
}

impl Report {
    fn table(&self, all: bool) -> String {
        let mut text = format!("OpenShift {}, {}", self.version, self.release);
        for (what, rows) in [
            ("images", &self.images),
            ("catalogues", &self.catalogues),
            ("images of operators", &self.operators),
            ("files", &self.files),
        ] {
            if rows.is_empty() {
                continue;
            }
            let there = rows.iter().filter(|row| row.ok).count();
            let _ = write!(text, "\n{there} of {} {what} are there", rows.len());
            let shown: Vec<_> = rows.iter().filter(|row| all || !row.ok).collect();
            if shown.is_empty() {
                continue;
            }
            let rows = shown.into_iter().map(|row| {
                let told = row.why.as_ref().or(row.at.as_ref()).cloned().unwrap_or_default();
                [row.name.clone(), row.what.clone(), row.state.as_str().to_owned(), told]
            });
            let _ = write!(text, "\n\n{}\n", table(["NAME", "WHAT", "STATE", "WHERE, OR WHY"], rows));
        }
        for left in &self.not_covered {
            let _ = write!(text, "\nnot looked for: {left}");
        }
        text
    }
}
