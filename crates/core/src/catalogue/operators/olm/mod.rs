//! The operators, one file each.

pub(super) mod amd_gpu;
pub(super) mod authorino;
pub(super) mod cluster_observability;
pub(super) mod cnv;
pub(super) mod fence_agents_remediation;
pub(super) mod kmm;
pub(super) mod kube_descheduler;
pub(super) mod loki;
pub(super) mod lso;
pub(super) mod lvm;
pub(super) mod mce;
pub(super) mod metallb;
pub(super) mod mtv;
pub(super) mod nmstate;
pub(super) mod node_feature_discovery;
pub(super) mod node_healthcheck;
pub(super) mod node_maintenance;
pub(super) mod numaresources;
pub(super) mod nvidia_gpu;
pub(super) mod oadp;
pub(super) mod odf;
pub(super) mod openshift_ai;
pub(super) mod openshift_logging;
pub(super) mod osc;
pub(super) mod pipelines;
pub(super) mod self_node_remediation;
pub(super) mod serverless;
pub(super) mod servicemesh;

use super::Operator;

/// Every operator that a subscription brings, in the order of their validations.
pub const OPERATORS: &[Operator] = &[
    lso::OPERATOR,
    odf::OPERATOR,
    cnv::OPERATOR,
    lvm::OPERATOR,
    mce::OPERATOR,
    mtv::OPERATOR,
    osc::OPERATOR,
    node_feature_discovery::OPERATOR,
    nvidia_gpu::OPERATOR,
    amd_gpu::OPERATOR,
    kmm::OPERATOR,
    pipelines::OPERATOR,
    servicemesh::OPERATOR,
    serverless::OPERATOR,
    authorino::OPERATOR,
    openshift_ai::OPERATOR,
    nmstate::OPERATOR,
    node_healthcheck::OPERATOR,
    self_node_remediation::OPERATOR,
    fence_agents_remediation::OPERATOR,
    node_maintenance::OPERATOR,
    kube_descheduler::OPERATOR,
    loki::OPERATOR,
    openshift_logging::OPERATOR,
    cluster_observability::OPERATOR,
    numaresources::OPERATOR,
    oadp::OPERATOR,
    metallb::OPERATOR,
];
