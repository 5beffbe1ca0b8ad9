#!/bin/bash
# Fetches the root file system's image. Nothing of it is used before its digest is right.
set -euo pipefail

url=$(/usr/libexec/lab-argument coreos.live.rootfs_url)
live=/run/live

mkdir -p "$live"
mount -t tmpfs -o size=80%,mode=0755 live "$live"
cd "$live"
for _ in $(seq 20); do
    if curl -sSfL --connect-timeout 20 --speed-time 60 --speed-limit 1 -o rootfs.img "$url" \
        && sha256sum --check --status /etc/coreos-live-want-rootfs; then
        exit 0
    fi
    echo "$url did not give the root file system of this kernel" >&2
    sleep 3
done
exit 1
