#!/bin/sh
# Finishes the root file system at $1, and takes kernel, initramfs and the list of packages out of it into $OUT.
# $OVERLAY: files to add. $DRACUT_MODULES: what the initramfs is made of.
set -eu
root=$1

cp -a "$OVERLAY/." "$root/"
ln -sf ../chrony.conf "$root/etc/chrony/chrony.conf"
# As on CoreOS: what is local can be written, the rest of /usr can't.
mkdir -p "$root/sysroot" "$root/var/usrlocal"
cp -a "$root/usr/local/." "$root/var/usrlocal/"
rm -rf "$root/usr/local"
ln -s ../var/usrlocal "$root/usr/local"
# What is run and can't be here, /usr being what it is, may come later.
ln -s ../local/bin/oc "$root/usr/bin/oc"

kernel=$(ls "$root/lib/modules")
# Machines of the lab start without hardware support: what can't be there only costs time at every start.
keep() {
    folder=$root/lib/modules/$kernel/kernel/$1
    shift
    for entry in "$folder"/*; do
        case " $* " in
        *" $(basename "$entry" .ko) "*) ;;
        *) rm -rf "$entry" ;;
        esac
    done
}
keep . arch block crypto drivers fs lib mm net security
keep drivers acpi ata block cdrom char dax firmware hid input md net nvdimm nvme pci pps ptp scsi usb vhost virt virtio
keep drivers/net bonding dummy ethernet failover geneve ipvlan macvlan mdio net_failover phy team tun veth virtio_net vxlan
keep drivers/net/ethernet intel
keep drivers/net/ethernet/intel e1000 e1000e igb
keep drivers/input evdev keyboard serio
keep drivers/usb common core host storage
keep fs autofs binfmt_misc configfs efivarfs ext4 fat fuse isofs jbd2 mbcache nls overlayfs squashfs udf xfs
rm -f "$root"/usr/lib/*/NetworkManager/*/libnm-device-plugin-adsl.so \
    "$root"/usr/lib/*/NetworkManager/*/libnm-device-plugin-bluetooth.so \
    "$root"/usr/lib/*/NetworkManager/*/libnm-device-plugin-wifi.so \
    "$root"/usr/lib/*/NetworkManager/*/libnm-device-plugin-wwan.so
chroot "$root" depmod "$kernel"

chroot "$root" dracut --force --no-hostonly --no-hostonly-cmdline --no-early-microcode --reproducible \
    --modules "$DRACUT_MODULES" --omit "dracut-systemd" \
    --compress 'zstd -9 -q -T2' /initrd "$kernel"
mv "$root/initrd" "$OUT/initrd.dracut"
cp "$root/boot/vmlinuz-$kernel" "$OUT/vmlinuz"
chroot "$root" dpkg-query --show --showformat '${Package} ${Version}\n' >"$OUT/packages.txt"

# What the packages enabled, the image's presets may not want; and nothing is out of date in a fresh image.
rm -rf "$root"/etc/systemd/system/*.wants
chroot "$root" systemctl preset-all --preset-mode=full
touch "$root/etc/.updated" "$root/var/.updated"

# What belongs to one machine, and what only the build needed.
rm -rf "$root"/boot/* "$root/initrd.img" "$root/initrd.img.old" "$root/vmlinuz" "$root/vmlinuz.old" \
    "$root/etc/machine-id" "$root/etc/hostname" "$root/etc/resolv.conf" "$root/var/lib/dbus/machine-id" \
    "$root"/var/log/* "$root"/var/cache/* "$root"/var/lib/apt/lists/* "$root"/tmp/*

# Whoever writes a disk takes from the live system what is in both, and finds it by its digest.
find "$root/usr" -type f -size +7k -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | while read -r digest file; do
    object=$root/ostree/repo/objects/$(printf %.2s "$digest")/${digest#??}.file
    mkdir -p "${object%/*}"
    [ -e "$object" ] || ln "$file" "$object"
done
