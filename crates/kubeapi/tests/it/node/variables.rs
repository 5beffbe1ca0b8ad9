//! The environment of a container.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Container, EnvVarSource, Pod, Secret, Service};
use kube::{Api, ResourceExt};

use super::Kubelet;

/// Address of the API among those of services: the first of their range.
pub(super) const KUBERNETES: Ipv4Addr = Ipv4Addr::new(172, 30, 0, 1);

/// What is in the environment of the image.
const IMAGE: [(&str, &str); 2] = [("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), ("HOME", "/tmp")];

impl Kubelet {
    /// The variables of a container; `Err`: what has to be there first.
    pub(super) async fn variables(
        &self,
        pod: &Pod,
        container: &Container,
        services: &[Service],
        address: Ipv4Addr,
    ) -> Result<BTreeMap<String, String>, String> {
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let mut set: BTreeMap<_, _> = IMAGE.map(own).into();
        set.insert("HOSTNAME".to_owned(), pod.name_any());
        set.extend(links("kubernetes", KUBERNETES, &[("https".to_owned(), 443)]));
        if pod.spec.as_ref().and_then(|spec| spec.enable_service_links) != Some(false) {
            for service in services {
                set.extend(links_of(service));
            }
        }
        for source in container.env_from.iter().flatten() {
            let prefix = source.prefix.clone().unwrap_or_default();
            let mut add = |name: String, value: String| set.insert(format!("{prefix}{name}"), value);
            if let Some(reference) = &source.config_map_ref {
                for (name, value) in self.config_map(&reference.name).await?.data.unwrap_or_default() {
                    add(name, value);
                }
            }
            if let Some(reference) = &source.secret_ref {
                for (name, value) in self.secret(&reference.name).await?.data.unwrap_or_default() {
                    add(name, text(value));
                }
            }
        }
        for variable in container.env.iter().flatten() {
            let value = match &variable.value_from {
                Some(source) => self.value(pod, source, address).await?,
                None => expanded(variable.value.as_deref().unwrap_or_default(), &set),
            };
            set.insert(variable.name.clone(), value);
        }
        Ok(set)
    }

    async fn value(&self, pod: &Pod, source: &EnvVarSource, address: Ipv4Addr) -> Result<String, String> {
        if let Some(reference) = &source.secret_key_ref {
            let data = self.secret(&reference.name).await?.data.unwrap_or_default();
            let found = data.get(&reference.key).cloned();
            return found.map(text).ok_or_else(|| missing(&reference.key, &reference.name));
        }
        if let Some(reference) = &source.config_map_key_ref {
            let data = self.config_map(&reference.name).await?.data.unwrap_or_default();
            return data.get(&reference.key).cloned().ok_or_else(|| missing(&reference.key, &reference.name));
        }
        let field = source.field_ref.as_ref().expect("a field, or a key of something");
        Ok(match field.field_path.as_str() {
            "metadata.name" => pod.name_any(),
            "metadata.namespace" => pod.namespace().unwrap(),
            "status.podIP" => address.to_string(),
            other => panic!("the field {other}"),
        })
    }

    pub(super) async fn secret(&self, name: &str) -> Result<Secret, String> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        api.get_opt(name).await.unwrap().ok_or_else(|| format!("secret {name} not found"))
    }

    pub(super) async fn config_map(&self, name: &str) -> Result<ConfigMap, String> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        api.get_opt(name).await.unwrap().ok_or_else(|| format!("configmap {name} not found"))
    }
}

fn text(value: ByteString) -> String {
    String::from_utf8(value.0).unwrap()
}

fn missing(key: &str, name: &str) -> String {
    format!("couldn't find key {key} in {name}")
}

fn links_of(service: &Service) -> Vec<(String, String)> {
    let spec = service.spec.as_ref().unwrap();
    let ports: Vec<_> = spec
        .ports
        .iter()
        .flatten()
        .map(|port| (port.name.clone().unwrap_or_default(), u16::try_from(port.port).unwrap()))
        .collect();
    links(&service.name_any(), spec.cluster_ip.as_ref().unwrap().parse().unwrap(), &ports)
}

/// The variables by which pods are told of a service.
fn links(name: &str, address: Ipv4Addr, ports: &[(String, u16)]) -> Vec<(String, String)> {
    let upper = |name: &str| name.to_uppercase().replace('-', "_");
    let name = upper(name);
    let first = ports[0].1;
    let mut links = vec![
        (format!("{name}_SERVICE_HOST"), address.to_string()),
        (format!("{name}_SERVICE_PORT"), first.to_string()),
        (format!("{name}_PORT"), format!("tcp://{address}:{first}")),
    ];
    for (port_name, port) in ports {
        let prefix = format!("{name}_PORT_{port}_TCP");
        links.extend([
            (prefix.clone(), format!("tcp://{address}:{port}")),
            (format!("{prefix}_PROTO"), "tcp".to_owned()),
            (format!("{prefix}_PORT"), port.to_string()),
            (format!("{prefix}_ADDR"), address.to_string()),
        ]);
        if !port_name.is_empty() {
            links.push((format!("{name}_SERVICE_PORT_{}", upper(port_name)), port.to_string()));
        }
    }
    links
}

/// A text in which `$(NAME)` is the value of the variable, if there is one, and `$$` is `$`.
pub(super) fn expanded(text: &str, set: &BTreeMap<String, String>) -> String {
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            expanded.push_str(&set.get(name).cloned().unwrap_or_else(|| format!("$({name})")));
            rest = after;
        } else {
            expanded.push('$');
        }
    }
    expanded + rest
}

#[test]
fn variables_in_texts() {
    let set = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
    for (text, wanted) in
        [("a", "a"), ("$(A)-$(A)", "1-1"), ("$(B)", "$(B)"), ("$$(A)", "$(A)"), ("$A $( $", "$A $( $")]
    {
        assert_eq!(expanded(text, &set), wanted);
    }
}
