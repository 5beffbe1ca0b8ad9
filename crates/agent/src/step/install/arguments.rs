//! The installer's flags, in the order that it knows them (agent-protocol §2.4.9).

use std::ffi::OsString;

use assisted_wire::probe_requests::InstallCmdRequest;

use super::request;
use crate::config::Config;

const COPY_NETWORK: &str = "--copy-network";

pub(super) fn flags(
    request: &InstallCmdRequest,
    service: &Config,
    agent_image: &str,
    copy_network: bool,
) -> Result<Vec<OsString>, String> {
    let mut flags = Flags::default();
    flags.with("--role", &request.role);
    flags.with("--infra-env-id", &request.infra_env_id);
    flags.with("--cluster-id", &request.cluster_id);
    flags.with("--host-id", &request.host_id);
    flags.with("--boot-device", &request.boot_device);
    flags.with("--url", &service.url);
    flags.with("--controller-image", &request.controller_image);
    flags.with("--agent-image", agent_image);
    if request.control_plane_count > 0 {
        flags.with("--control-plane-count", &request.control_plane_count);
    }
    flags.some("--mco-image", &request.mco_image);
    flags.some("--must-gather-image", &request.must_gather_image);
    flags.some("--openshift-version", &request.openshift_version);
    for disk in request.disks_to_format.iter().flatten() {
        flags.with("--format-disk", disk);
    }
    flags.on("--insecure", service.insecure);
    flags.on("--check-cluster-version", request.check_cvo);
    flags.on("--skip-installation-disk-cleanup", request.skip_installation_disk_cleanup);
    if let Some(path) = &service.ca_file {
        flags.0.extend(["--cacert".into(), path.into()]);
    }
    let mut args = request::installer_args(&request.installer_args)?;
    if copy_network && !args.iter().any(|arg| arg == COPY_NETWORK || arg == "-n") {
        args.push(COPY_NETWORK.to_owned());
    }
    if !args.is_empty() {
        let text = serde_json::to_string(&args).map_err(|error| error.to_string())?;
        flags.with("--installer-args", &text);
    }
    flags.on("--enable-skip-mco-reboot", request.enable_skip_mco_reboot);
    flags.on("--notify-num-reboots", request.notify_num_reboots);
    flags.on("--approve-all-csrs", request.approve_all_csrs);
    if let Some(proxy) = &request.proxy {
        flags.some("--http-proxy", proxy.http_proxy.as_deref().unwrap_or_default());
        flags.some("--https-proxy", proxy.https_proxy.as_deref().unwrap_or_default());
        flags.some("--no-proxy", proxy.no_proxy.as_deref().unwrap_or_default());
    }
    flags.some("--service-ips", &request.service_ips.iter().flatten().cloned().collect::<Vec<_>>().join(","));
    flags.some("--coreos-image", &request.coreos_image);
    Ok(flags.0)
}

#[derive(Default)]
struct Flags(Vec<OsString>);

impl Flags {
    fn with(&mut self, name: &str, value: &(impl ToString + ?Sized)) {
        self.0.extend([name.into(), value.to_string().into()]);
    }

    fn some(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.with(name, value);
        }
    }

    fn on(&mut self, name: &str, on: bool) {
        if on {
            self.0.push(name.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::id::InfraEnvId;

    use super::*;

    const ID: &str = "856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf";

    fn flags_of(more: &str, copy_network: bool) -> Vec<String> {
        let text = format!(
            r#"{{"cluster_id":"{ID}","host_id":"{ID}","infra_env_id":"{ID}","role":"bootstrap","boot_device":"/dev/vda",
                "controller_image":"c:1","installer_image":"i:1"{more}}}"#
        );
        let mut service = Config::new("https://h:1/x", ID.parse::<InfraEnvId>().unwrap());
        service.insecure = true;
        service.ca_file = Some("/ca file".into());
        let flags = flags(&serde_json::from_str(&text).unwrap(), &service, "agent:2", copy_network).unwrap();
        flags.into_iter().map(|flag| flag.into_string().unwrap()).collect()
    }

    #[test]
    fn all_of_it_in_its_order() {
        let more = r#","control_plane_count":3,"mco_image":"m:1","must_gather_image":"g:1","openshift_version":"4.20.1",
            "disks_to_format":["/dev/a","/dev/b"],"check_cvo":true,"skip_installation_disk_cleanup":true,
            "installer_args":"[\"--append-karg\",\"a=b\"]","enable_skip_mco_reboot":true,"notify_num_reboots":true,
            "approve_all_csrs":true,
            "proxy":{"http_proxy":"http://p","https_proxy":"http://q","no_proxy":"a,b"},
            "service_ips":["10.0.0.1","10.0.0.2"],"coreos_image":"o:1""#;
        let expected = format!(
            "--role bootstrap --infra-env-id {ID} --cluster-id {ID} --host-id {ID} --boot-device /dev/vda \
             --url https://h:1/x --controller-image c:1 --agent-image agent:2 --control-plane-count 3 \
             --mco-image m:1 --must-gather-image g:1 --openshift-version 4.20.1 --format-disk /dev/a \
             --format-disk /dev/b --insecure --check-cluster-version --skip-installation-disk-cleanup \
             --cacert /ca file --installer-args [\"--append-karg\",\"a=b\",\"--copy-network\"] \
             --enable-skip-mco-reboot --notify-num-reboots --approve-all-csrs --http-proxy http://p \
             --https-proxy http://q --no-proxy a,b --service-ips 10.0.0.1,10.0.0.2 --coreos-image o:1"
        );
        assert_eq!(flags_of(more, true).join(" "), expected);
    }

    #[test]
    fn what_is_not_wanted_is_left_out() {
        let least = flags_of("", false);
        assert_eq!(least.len(), 8 * 2 + 1 + 2);
        let twice = flags_of(r#","installer_args":"[\"-n\"]""#, true);
        assert!(twice.contains(&r#"["-n"]"#.to_owned()), "{twice:?}");
    }
}
