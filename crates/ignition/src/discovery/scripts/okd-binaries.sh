#!/bin/bash
# Lays the packages of an image over /usr: the discovery image of OKD lacks what nodes of OpenShift need.
set -euo pipefail
image=@IMAGE@
until podman image exists "$image" || podman pull --quiet --authfile /root/.docker/config.json "$image"; do
    sleep 10
done
work=/var/tmp/okd-overlay
mkdir -p "$work/upper" "$work/work"
mountpoint=$(podman image mount "$image")
trap 'podman image unmount "$image"' EXIT
mount -t overlay overlay -o "lowerdir=/usr,upperdir=$work/upper,workdir=$work/work" /usr
cd /
for package in "$mountpoint"/rpms/*.rpm; do
    rpm2cpio "$package" | cpio --extract --make-directories --unconditional --preserve-modification-time --quiet
done
ldconfig
systemctl daemon-reload
