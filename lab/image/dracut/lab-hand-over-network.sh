#!/bin/bash
# Settings that were given for the initramfs are meant for the system too, unless it has its own. Otherwise the system
# starts as if nothing had been set up.
set -euo pipefail

connections=/sysroot/etc/NetworkManager/system-connections
if [[ -e /run/lab/network-was-given && -z $(ls -A "$connections" 2>/dev/null) ]]; then
    mkdir -p "$connections"
    cp /run/NetworkManager/system-connections/*.nmconnection "$connections/"
    chmod 600 "$connections"/*
fi
for interface in /sys/class/net/*; do
    name=${interface##*/}
    if [[ $name != lo && -e $interface/device ]]; then
        ip address flush dev "$name"
        ip link set "$name" down
    fi
done
rm -rf /run/NetworkManager
