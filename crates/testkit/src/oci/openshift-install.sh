#!/bin/sh
# The installer program of the lab's releases: it takes the command line of the real one, reads the same files, and leaves files
# of the same names, places and forms.
set -eu

fail() {
    echo "level=fatal msg=$1" >&2
    exit "${2:-3}"
}

data() { printf 'data:text/plain;charset=utf-8;base64,%s' "$(base64 -w0 "$1")"; }
: "${OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE:?}" "${OPENSHIFT_INSTALL_INVOKER:?}"

# The config of an image that brings its release along: it holds what it was made from.
unconfigured() {
    separator=
    printf '{"ignition":{"version":"3.2.0"},"storage":{"files":['
    for name in "$@"; do
        printf '%s{"path":"/etc/assisted/%s","mode":384,"contents":{"source":"%s"}}' "$separator" "$name" "$(data "$name")"
        separator=,
    done
    printf ']}}'
}
if [ "$#" -eq 5 ] && [ "$1 $2 $3 $4" = "agent create unconfigured-ignition --dir" ]; then
    cd "$5"
    for name in cluster-manifests/infraenv.yaml cluster-manifests/pull-secret.yaml mirror/registries.conf; do
        [ -f "$name" ] || fail "failed to fetch Unconfigured Agent Installer Ignition: $name is not there"
    done
    unconfigured $(find cluster-manifests mirror agent-config.yaml -type f 2> /dev/null | sort) > unconfigured-agent.ign
    exit 0
fi

[ "$#" -eq 4 ] && [ "$1" = create ] && [ "$3" = --dir ] || fail "usage: openshift-install create TARGET --dir DIR" 64
target=$2
cd "$4"

random() { tr -dc 'a-z0-9' < /dev/urandom | head -c "$1"; }
# A text of the install config: the first that has this before it.
text() { grep -o "$1\"[^\"]*\"" .openshift_install_state.json | head -n 1 | sed 's/.*"\([^"]*\)"$/\1/'; }

if [ ! -f .openshift_install_state.json ]; then
    [ -f install-config.yaml ] || fail "failed to fetch Install Config: install-config.yaml is not there"
    grep -q '"apiVersion":"v1"' install-config.yaml || fail "failed to fetch Install Config: invalid install-config.yaml"
    # It takes the file away.
    mv install-config.yaml .openshift_install_state.json
fi
cluster=$(text '"metadata":{"name":')
domain=$(text '"baseDomain":')
[ -n "$cluster" ] && [ -n "$domain" ] || fail "invalid install-config.yaml: metadata.name and baseDomain are required"

manifests() {
    mkdir -p manifests openshift
    id=$(cat /proc/sys/kernel/random/uuid)
    cat > manifests/cvo-overrides.yaml << END
apiVersion: config.openshift.io/v1
kind: ClusterVersion
metadata:
  name: version
spec:
  clusterID: $id
END
    cat > manifests/cluster-infrastructure-02-config.yml << END
apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata:
  name: cluster
status:
  infrastructureName: $cluster-$(random 5)
  infrastructureTopology: SingleReplica
END
    cat > manifests/cluster-scheduler-02-config.yml << END
apiVersion: config.openshift.io/v1
kind: Scheduler
metadata:
  name: cluster
spec:
  mastersSchedulable: false
END
    grep -o '{"name":"[^"]*","role":"[^"]*"' .openshift_install_state.json | cut -d '"' -f 4,8 --output-delimiter ' ' > .hosts || true
    number=0
    while read -r host role; do
        kind=hosts
        [ "$role" != arbiter ] || kind=arbiter_hosts
        cat > "openshift/99_openshift-cluster-api_$kind-$number.yaml" << END
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: $host
  namespace: openshift-machine-api
spec:
  online: true
END
        number=$((number + 1))
    done < .hosts
    if grep -q '"vsphere":\|"nutanix":' .openshift_install_state.json; then
        for name in 99_openshift-cluster-api_master-machines-0 99_openshift-cluster-api_worker-machineset-0 \
            99_openshift-machine-api_master-control-plane-machine-set; do
            printf 'apiVersion: machine.openshift.io/v1beta1\nkind: Machine\nmetadata:\n  name: %s\n' "$name" > "openshift/$name.yaml"
        done
    fi
}

# The config of the host that brings the others up: all manifests, the pull secret, the units that are waited for.
bootstrap() {
    printf '{"ignition":{"version":"3.2.0"},"storage":{"files":['
    printf '{"path":"/etc/motd","append":[{"source":"data:,This%%20is%%20the%%20bootstrap%%20node"}],"mode":420}'
    printf ',{"path":"/etc/NetworkManager/system-connections/nmconnection","mode":384,"contents":{"source":"data:,x"}}'
    sed 's/.*"pullSecret":"\(\([^"\\]\|\\.\)*\)".*/\1/; s/\\"/"/g' .openshift_install_state.json > .pull-secret
    printf ',{"path":"/root/.docker/config.json","mode":384,"contents":{"source":"%s"}}' "$(data .pull-secret)"
    for folder in manifests openshift; do
        for file in "$folder"/*; do
            [ -f "$file" ] || continue
            printf ',{"path":"/opt/openshift/%s","mode":420,"contents":{"source":"%s"}}' "$file" "$(data "$file")"
        done
    done
    printf ',{"path":"/opt/openshift/auth/kubeconfig","mode":384,"contents":{"source":"%s"}}' "$(data auth/kubeconfig)"
    printf ',{"path":"/opt/openshift/node-ip","mode":420,"contents":{"source":"data:,%s"}}' "${OPENSHIFT_INSTALL_BOOTSTRAP_NODE_IP:-}"
    printf ']},"systemd":{"units":['
    for unit in bootkube approve-csr progress; do
        printf '{"name":"%s.service","contents":"[Service]\\nType=oneshot\\nExecStart=/usr/local/bin/%s.sh\\n"},' "$unit" "$unit"
    done
    printf '{"name":"release-image.service","enabled":true,"contents":"[Service]\\nType=oneshot\\nExecStart=/bin/true\\n[Install]\\nWantedBy=multi-user.target\\n"}'
    printf ']}}'
}

pointer() {
    printf '{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://%s:22623/config/%s"}]},' "$address" "$1"
    printf '"security":{"tls":{"certificateAuthorities":[{"source":"%s"}]}}}}' "$(data .authority)"
}

case $target in
    manifests)
        manifests
        exit 0
        ;;
    ignition-configs) ;;
    single-node-ignition-config)
        grep -q '"bootstrapInPlace":' .openshift_install_state.json || fail "bootstrapInPlace must be set to make a single node"
        ;;
    *) fail "unknown target $target" 64 ;;
esac

[ -d manifests ] || manifests
mkdir -p auth
printf 'apiVersion: v1\nkind: Config\nclusters:\n- name: %s\n  cluster:\n    server: https://api.%s.%s:6443\n' "$cluster" "$cluster" "$domain" > auth/kubeconfig
printf '%s-%s-%s-%s' "$(random 5)" "$(random 5)" "$(random 5)" "$(random 5)" > auth/kubeadmin-password
id=$(sed -n 's/^  clusterID: //p' manifests/cvo-overrides.yaml)
infra=$(sed -n 's/^  infrastructureName: //p' manifests/cluster-infrastructure-02-config.yml)
printf '{"clusterName":"%s","clusterID":"%s","infraID":"%s"}' "$cluster" "$id" "$infra" > metadata.json
printf '%s' '-----BEGIN CERTIFICATE-----' > .authority
if [ "$target" = single-node-ignition-config ]; then
    bootstrap > bootstrap-in-place-for-live-iso.ign
else
    address=$(text '"apiVIPs":\[')
    case $address in
        '') address=api-int.$cluster.$domain ;;
        *:*) address="[$address]" ;;
    esac
    bootstrap > bootstrap.ign
    pointer master > master.ign
    pointer worker > worker.ign
    if grep -q '"arbiter":{' .openshift_install_state.json; then
        pointer arbiter > arbiter.ign
    fi
fi
rm -rf manifests openshift .openshift_install_state.json .hosts .pull-secret .authority
