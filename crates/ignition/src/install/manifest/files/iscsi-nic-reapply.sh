#!/bin/bash
# Makes the network that the firmware set up for the disk the one that NetworkManager knows, if the root is on iSCSI.
set -euo pipefail

root=$(findmnt --noheadings --nofsroot --output SOURCE /sysroot)
# All disks below it: a path of its own, or those behind a multipath device.
if ! lsblk --noheadings --inverse --output TRAN "${root}" | grep --quiet --word-regexp iscsi; then
    exit 0
fi
nmcli --get-values DEVICE,STATE device status | while IFS=: read -r device state; do
    if [[ "${state}" == connected* ]]; then
        nmcli device reapply "${device}" || echo "${device} stays as it is"
    fi
done
