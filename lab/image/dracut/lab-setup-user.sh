#!/bin/bash
# Puts the config where Ignition looks for the user's: a live system has it in its initramfs, an installed one on its
# boot partition.
set -euo pipefail

mkdir -p /usr/lib/ignition
if is-live-image; then
    if [[ -e /config.ign ]]; then
        cp /config.ign /usr/lib/ignition/user.ign
    fi
    exit 0
fi
udevadm wait --timeout=60 /dev/disk/by-label/boot
mkdir -p /run/boot
mount -o ro /dev/disk/by-label/boot /run/boot
if [[ -e /run/boot/ignition/config.ign ]]; then
    cp /run/boot/ignition/config.ign /usr/lib/ignition/user.ign
fi
umount /run/boot
