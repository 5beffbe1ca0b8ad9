#!/bin/bash
# The root of an installed system: as large as its disk from the first start on, and as on a live one /usr can't be
# changed.
set -euo pipefail

if [[ " $(</proc/cmdline) " == *' ignition.firstboot '* ]]; then
    device=$(findmnt --noheadings --output SOURCE /sysroot)
    block=$(readlink -f "/sys/class/block/${device##*/}")
    number=$(<"$block/partition")
    disk=/dev/$(basename "$(dirname "$block")")
    # The file system is in use: the kernel is told of its new size alone, not to read the table again.
    sfdisk --quiet --no-reread --no-tell-kernel -N "$number" "$disk" <<<', +'
    partx --update --nr "$number" "$disk"
    resize2fs "$device"
fi
mount --bind /sysroot /sysroot/sysroot
mount --bind /sysroot/usr /sysroot/usr
mount -o remount,bind,ro /sysroot/usr
