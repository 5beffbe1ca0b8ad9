#!/bin/bash
# The disk's root: as large as the disk from the first start on. Which of its deployments becomes the system is for ostree to find out.
set -euo pipefail

if [[ " $(</proc/cmdline) " == *' ignition.firstboot '* ]]; then
    device=$(findmnt --noheadings --output SOURCE /sysroot)
    block=$(readlink -f "/sys/class/block/${device##*/}")
    number=$(<"$block/partition")
    disk=/dev/$(basename "$(dirname "$block")")
    # The file system is in use: the kernel is told of its new size alone, not to read the table again.
    sfdisk --quiet --no-reread --no-tell-kernel -N "$number" "$disk" <<<', +'
    partx --update --nr "$number" "$disk"
    xfs_growfs /sysroot
fi
# What Ignition writes below /var is for every deployment: without this ostree would not mount it before the system itself starts.
mkdir -p /run/ostree
touch /run/ostree/initramfs-mount-var
