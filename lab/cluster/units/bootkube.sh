#!/usr/bin/env bash
# The temporary control plane, in the stages in which a release's own script has them.
set -euo pipefail
cd /opt/openshift

if [ ! -f mco-bootstrap.done ]
then
    /usr/local/bin/lab-cluster mco-bootstrap
    mkdir -p /etc/kubernetes/manifests
    cp mco-bootstrap/bootstrap/machineconfigoperator-bootstrap-pod.yaml /etc/kubernetes/manifests/
    touch mco-bootstrap.done
fi

exec /usr/local/bin/lab-cluster bootkube
