#!/bin/bash
# The medium is known by its label alone: whether it is a CD or a stick does not matter.
set -euo pipefail

label=$(/usr/libexec/lab-argument coreos.liveiso)
device=/dev/disk/by-label/$label
udevadm wait --timeout=120 "$device"
mkdir -p /run/media/iso
mount -t iso9660 -o ro "$device" /run/media/iso
