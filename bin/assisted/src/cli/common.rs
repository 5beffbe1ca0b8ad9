//! What all commands share: the client, and finding objects by name.

use std::path::PathBuf;

use assisted_client::{Client, ClusterFilter, InfraEnvFilter, Logins};
use assisted_console::{Failure, Format, Global};
use assisted_wire::cluster::Cluster;
use assisted_wire::host::{Host, HostRole};
use assisted_wire::infra_env::InfraEnv;
use assisted_wire::secret::Secret;

/// A client, and how to show what it gets.
#[derive(Clone)]
pub struct Context {
    pub client: Client,
    /// The token of the caller, given or kept.
    pub token: Option<Secret>,
    pub format: Format,
    /// Certificates to trust besides the system's, where another server than the service is asked.
    pub ca_file: Option<PathBuf>,
}

impl Context {
    pub fn new(global: &Global) -> Result<Self, Failure> {
        let mut builder =
            Client::builder(&global.url).user_agent(concat!("assisted/", env!("CARGO_PKG_VERSION")));
        let kept = match &global.token {
            Some(token) => Some(token.as_str().into()),
            None => kept(&global.url)?,
        };
        if let Some(token) = kept.clone() {
            builder = builder.user_token(token);
        }
        if let Some(path) = &global.ca_file {
            builder = builder.ca_file(path);
        }
        let client = builder.build().map_err(|error| {
            Failure::Usage(format!(
                "{error}; give --url as http://HOST:PORT or https://HOST:PORT (it is {:?})",
                global.url
            ))
        })?;
        Ok(Self { client, token: kept, format: global.output, ca_file: global.ca_file.clone() })
    }

    pub async fn clusters(&self) -> Result<Vec<Cluster>, Failure> {
        Ok(self.client.list_clusters(&ClusterFilter::default()).await?)
    }

    pub async fn infra_envs(&self) -> Result<Vec<InfraEnv>, Failure> {
        Ok(self.client.list_infra_envs(&InfraEnvFilter::default()).await?)
    }

    /// The cluster that is meant by an id, the beginning of one, or a name.
    pub async fn cluster(&self, meant: &str) -> Result<Cluster, Failure> {
        let found = pick("cluster", meant, self.clusters().await?, |cluster| {
            (cluster.id.to_string(), cluster.name.clone())
        })?;
        Ok(self.client.get_cluster(found.id).await?)
    }

    /// The infra-env that is meant by an id, the beginning of one, or a name.
    pub async fn infra_env(&self, meant: &str) -> Result<InfraEnv, Failure> {
        pick("infra-env", meant, self.infra_envs().await?, |infra_env| {
            (infra_env.id.to_string(), infra_env.name.clone())
        })
    }

    pub async fn hosts_of(&self, infra_env: &InfraEnv) -> Result<Vec<Host>, Failure> {
        Ok(self.client.list_hosts(infra_env.id).await?)
    }

    /// Every host of every infra-env.
    pub async fn hosts(&self) -> Result<Vec<Host>, Failure> {
        let mut hosts = Vec::new();
        for infra_env in self.infra_envs().await? {
            hosts.extend(self.hosts_of(&infra_env).await?);
        }
        Ok(hosts)
    }

    /// The host that is meant by an id, the beginning of one, or a host name.
    pub async fn host(&self, meant: &str) -> Result<Host, Failure> {
        pick("host", meant, self.hosts().await?, |host| (host.id.to_string(), host_name(host)))
    }
}

/// The token that `assisted login` has kept for a service. Who has no home folder has none.
fn kept(url: &str) -> Result<Option<Secret>, Failure> {
    // What is no address is told of when the client is made.
    let (Ok(service), Ok(logins)) = (url.parse(), Logins::of_user()) else { return Ok(None) };
    let kept = logins.get(&service).map_err(|error| Failure::Refused(error.to_string()))?;
    Ok(kept.map(|kept| kept.token))
}

/// The name under which people know a host.
pub fn host_name(host: &Host) -> String {
    if !host.requested_hostname.is_empty() {
        return host.requested_hostname.clone();
    }
    inventory(host).map(|inventory| inventory.hostname).unwrap_or_default()
}

/// The host's role; while it is open, the one that the service would choose.
pub fn role(host: &Host) -> String {
    let suggested = host.suggested_role.filter(|role| *role != HostRole::AutoAssign);
    match (host.role, suggested) {
        (Some(HostRole::AutoAssign), Some(suggested)) => format!("auto-assign ({suggested})"),
        (Some(HostRole::Master), _) if host.bootstrap => "master (bootstrap)".to_owned(),
        (role, _) => role.map(|role| role.to_string()).unwrap_or_default(),
    }
}

/// The host's inventory, if it has a readable one.
pub fn inventory(host: &Host) -> Option<assisted_wire::inventory::Inventory> {
    assisted_wire::embedded::read(&host.inventory).ok().flatten()
}

/// The one object that is meant; a refusal names the candidates.
fn pick<T>(
    kind: &str,
    meant: &str,
    objects: Vec<T>,
    names: impl Fn(&T) -> (String, String),
) -> Result<T, Failure> {
    let matching = |exact: bool| {
        objects
            .iter()
            .enumerate()
            .filter(|(_, object)| {
                let (id, name) = names(object);
                if exact { id == meant || name == meant } else { meant.len() >= 4 && id.starts_with(meant) }
            })
            .map(|(place, _)| place)
            .collect::<Vec<_>>()
    };
    let mut found = matching(true);
    if found.is_empty() {
        found = matching(false);
    }
    match found.as_slice() {
        [] => Err(Failure::Refused(format!(
            "no {kind} has the id or name {meant:?}; `assisted {kind} list` shows them"
        ))),
        [place] => {
            let place = *place;
            objects.into_iter().nth(place).ok_or_else(|| Failure::Refused(format!("no {kind} {meant:?}")))
        }
        several => {
            let ids: Vec<_> = several.iter().map(|place| names(&objects[*place]).0).collect();
            Err(Failure::Refused(format!(
                "{meant:?} is the name of several: give an id\n  {}",
                ids.join("\n  ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(object: &(&str, &str)) -> (String, String) {
        (object.0.to_owned(), object.1.to_owned())
    }

    #[test]
    fn objects_are_found_by_id_prefix_or_name() {
        let objects = vec![("aaaa1111", "one"), ("aaaa2222", "two"), ("bbbb3333", "two")];
        assert_eq!(pick("cluster", "one", objects.clone(), names).unwrap().0, "aaaa1111");
        assert_eq!(pick("cluster", "aaaa2", objects.clone(), names).unwrap().0, "aaaa2222");
        assert_eq!(pick("cluster", "bbbb3333", objects.clone(), names).unwrap().1, "two");
        assert!(
            matches!(pick("cluster", "aaaa", objects.clone(), names), Err(Failure::Refused(text)) if text.contains("several"))
        );
        assert!(
            matches!(pick("cluster", "two", objects.clone(), names), Err(Failure::Refused(text)) if text.contains("bbbb3333"))
        );
        assert!(
            matches!(pick("cluster", "bb", objects, names), Err(Failure::Refused(text)) if text.contains("assisted cluster list"))
        );
    }
}
