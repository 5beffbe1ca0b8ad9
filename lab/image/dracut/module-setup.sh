#!/bin/bash
# dracut module: the way to the root, from a live medium or on the disk, around the real Ignition of Debian's package.

check() {
    return 255
}

depends() {
    echo systemd-initrd udev-rules network-manager ignition base shutdown
}

installkernel() {
    hostonly='' instmods \
        ahci ata_piix sd_mod sr_mod cdrom usb-storage uas xhci-pci ehci-pci uhci-hcd \
        virtio_pci virtio_blk virtio_scsi virtio_net virtio_rng nvme \
        e1000 e1000e igb af_packet bonding 8021q \
        loop isofs squashfs overlay vfat nls_cp437 nls_ascii nls_iso8859-1 ext4 xfs dm_mod crc32c
}

# Adds a unit of ours, wanted by a target.
unit() {
    inst_simple "$moddir/$1" "$systemdsystemunitdir/$1"
    mkdir -p "$initdir$systemdsystemunitdir/$2"
    ln_r "$systemdsystemunitdir/$1" "$systemdsystemunitdir/$2/$1"
}

install() {
    # What the scripts here need, and those that others lay into the initramfs.
    inst_multiple \
        awk basename bash blkid cat chmod cp cpio curl cut date dd dirname env find grep head ip ln losetup ls mkdir mktemp \
        findmnt mount mountpoint mv partx readlink resize2fs rm rmdir sed seq sfdisk sha256sum sleep sort stat tail tee touch tr udevadm umount uniq wc xargs
    local script
    for script in "$moddir"/lab-*.sh; do
        inst_script "$script" "/usr/libexec/$(basename "$script" .sh)"
    done
    inst_script "$moddir/is-live-image.sh" /usr/bin/is-live-image
    inst_script "$moddir/setfiles.sh" /usr/sbin/setfiles
    inst_script "$moddir/coreos-copy-firstboot-network.sh" /usr/sbin/coreos-copy-firstboot-network

    unit lab-setup-user.service ignition-complete.target.requires
    unit lab-first-start.service ignition-complete.target.requires
    unit lab-network.service initrd.target.wants
    unit coreos-copy-firstboot-network.service initrd.target.wants
    unit lab-medium.service initrd.target.wants
    unit coreos-livepxe-rootfs.service initrd.target.wants
    unit lab-root.service initrd-root-fs.target.requires
    unit lab-installed-root.service initrd-root-fs.target.requires
    unit lab-hand-over-network.service initrd-switch-root.target.wants
    unit emergency.service emergency.target.requires

    local other
    for other in ignition-fetch nm-initrd nm-wait-online-initrd; do
        inst_simple "$moddir/$other.conf" "/etc/systemd/system/$other.service.d/lab.conf"
    done
    inst_simple "$moddir/dhcp.conf" /etc/NetworkManager/conf.d/lab-dhcp.conf
    # It would look for a root on its own.
    rm -f "$initdir$systemdutildir/system-generators/systemd-gpt-auto-generator"
}
