#!/bin/bash
# The kernel's arguments say how the network is set up; without any, every interface asks for an address.
set -euo pipefail

arguments=$(</proc/cmdline)
# Word by word is meant.
# shellcheck disable=SC2086
/usr/lib/NetworkManager/nm-initrd-generator -- $arguments
if [[ " $arguments " == *' ip='* ]]; then
    mkdir -p /run/lab
    touch /run/lab/network-was-given
fi
mkdir -p /run/NetworkManager/initrd
touch /run/NetworkManager/initrd/neednet
