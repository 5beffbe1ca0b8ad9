#!/bin/bash
# The root: what the image holds, with room for changes in memory; /usr can't be changed.
set -euo pipefail

live=/run/live
mkdir -p "$live"
mountpoint -q "$live" || mount -t tmpfs -o size=80%,mode=0755 live "$live"
mkdir -p "$live/image" "$live/changes" "$live/work"
for image in "$live/rootfs.img" /run/media/iso/images/pxeboot/rootfs.img; do
    [[ ! -e $image ]] || break
done
if [[ -e $image ]]; then
    # Inside the archive, behind the header of its first member.
    device=$(losetup --find --show --read-only --offset 124 "$image")
    mount -t squashfs -o ro "$device" "$live/image"
elif [[ -e /root.squashfs ]]; then
    # Appended to the initramfs, whose files go when the system leaves it.
    mv /root.squashfs "$live/"
    mount -t squashfs -o loop,ro "$live/root.squashfs" "$live/image"
else
    echo "there is no root file system: not on a medium, not in the initramfs, and no coreos.live.rootfs_url" >&2
    exit 1
fi
mount -t overlay -o "lowerdir=$live/image,upperdir=$live/changes,workdir=$live/work" live /sysroot
mount --bind "$live/image/usr" /sysroot/usr
# As on CoreOS: the agent tells by it that the system is a live one.
mount --bind "$live/image" /sysroot/sysroot
# Layers of containers can't lie over layers: they go straight into memory.
mkdir -p "$live/containers" /sysroot/var/lib/containers
mount --bind "$live/containers" /sysroot/var/lib/containers
# Where coreos-installer looks for the disk image of its own system.
mkdir -p /run/coreos-installer
ln -sfn /usr/lib/coreos-installer/osmet /run/coreos-installer/osmet
