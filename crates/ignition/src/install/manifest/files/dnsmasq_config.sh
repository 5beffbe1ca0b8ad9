#!/bin/bash
# Tells the node's name server the names of the cluster.
set -euo pipefail

# shellcheck disable=SC1091
source /etc/default/sno_dnsmasq_configuration
overrides=/etc/default/sno_dnsmasq_configuration_overrides
if [[ -f "${overrides}" ]]; then
    # shellcheck disable=SC1090
    source "${overrides}"
fi
name="${SNO_CLUSTER_NAME_OVERRIDE:-${CLUSTER_NAME}}.${SNO_BASE_DOMAIN_OVERRIDE:-${BASE_DOMAIN}}"
ip="${SNO_DNSMASQ_IP_OVERRIDE:-${HOST_IP}}"

{
    for part in apps api-int api; do
        echo "address=/${part}.${name}/${ip}"
    done
    for app in ${FURTHER_APPS}; do
        echo "address=/${app}.apps.${name}/${ip}"
    done
} > /etc/dnsmasq.d/single-node.conf
