#!/bin/bash
# Has the node ask its own name server first, whenever its network has changed.
set -euo pipefail

case "${2:-}" in
    up | dhcp4-change | dhcp6-change | connectivity-change) ;;
    *) exit 0 ;;
esac

# shellcheck disable=SC1091
source /etc/default/sno_dnsmasq_configuration
overrides=/etc/default/sno_dnsmasq_configuration_overrides
if [[ -f "${overrides}" ]]; then
    # shellcheck disable=SC1090
    source "${overrides}"
fi
name="${SNO_CLUSTER_NAME_OVERRIDE:-${CLUSTER_NAME}}.${SNO_BASE_DOMAIN_OVERRIDE:-${BASE_DOMAIN}}"
ip="${SNO_DNSMASQ_IP_OVERRIDE:-${HOST_IP}}"

resolv=/etc/resolv.conf
searched=""
while read -r key rest; do
    if [[ "${key}" == search ]]; then
        searched="${rest}"
    fi
done < "${resolv}"
others=""
for domain in ${searched}; do
    if [[ "${domain}" != "${name}" ]]; then
        others+=" ${domain}"
    fi
done
kept=$(grep --invert-match --regexp "^nameserver ${ip}\$" --regexp '^search ' "${resolv}" || true)
# Into the file that is there, which keeps its label.
printf 'search %s%s\nnameserver %s\n%s\n' "${name}" "${others}" "${ip}" "${kept}" > "${resolv}"
