//! Kubeconfigs, and the authority that a new cluster hands in for its own.

use assisted_core::admission::credentials::with_ingress_ca;
use assisted_installer::kube::Kubeconfig;

use crate::input;

pub fn run(bytes: &[u8]) {
    let _ = Kubeconfig::read(bytes);
    let Some(text) = input::text(bytes) else { return };
    let (kubeconfig, authority) = text.split_once("\n---\n").unwrap_or((text, ""));
    if let Ok(merged) = with_ingress_ca(&kubeconfig.into(), authority) {
        assert!(serde_yaml_ng::from_str::<serde_yaml_ng::Value>(merged.expose()).is_ok());
    }
}
