#!/bin/bash
# Makes of the live root `root.tar` what ostree keeps and what starts of it: a repository with one commit, the root and boot
# partitions' files of a disk that starts that commit, the image from which nodes' images are built, and the live root once more, in which
# coreos-installer finds the disk's objects.
# $TREE: files of the installed system alone. $OSTREE_CONTAINER: the program that speaks of containers to ostree. $KARGS: what the deployment starts with.
set -euo pipefail

rm -rf live-tree tree repo sysroot os-image
mkdir live-tree
tar --extract --file root.tar --directory live-tree --same-owner --preserve-permissions --numeric-owner --xattrs --xattrs-include='*'
rm -rf live-tree/ostree
cp --archive --link live-tree tree

# What is a system's own goes to /var, which every deployment shares; what a start makes anew is not in the tree.
kernel=$(ls tree/usr/lib/modules)
cp vmlinuz "tree/usr/lib/modules/$kernel/vmlinuz"
cp initrd.dracut "tree/usr/lib/modules/$kernel/initramfs.img"
factory=tree/usr/share/factory/var
mkdir -p "${factory%/*}"
mv tree/var "$factory"
rm -rf "$factory"/cache/* "$factory"/lib/apt "$factory"/lib/dpkg
mkdir -p "$factory"/{home,mnt,opt,srv}
mkdir -m 700 "$factory/roothome"
rm -rf tree/{boot,dev,home,media,mnt,opt,proc,root,run,srv,sys,sysroot,tmp}
mkdir -p tree/{boot,dev,proc,run,sys,sysroot,tmp,var}
chmod 1777 tree/tmp
for folder in home opt srv mnt; do
    ln -s "var/$folder" "tree/$folder"
done
ln -s var/roothome tree/root
ln -s run/media tree/media
ln -s sysroot/ostree tree/ostree
mv tree/etc tree/usr/etc
cp --archive --remove-destination "$TREE/." tree/
# What a start mounts is said, not guessed; and presets, which the live system has its units by, know of no ostree.
rm tree/usr/lib/systemd/system-generators/systemd-gpt-auto-generator
for unit in boot.mount ostree-remount.service; do
    ln -s "../$unit" "tree/usr/lib/systemd/system/local-fs.target.wants/$unit"
done

ostree init --repo=repo --mode=bare
ostree commit --repo=repo --branch=lab/os --tree=dir=tree --bootable --no-bindings --timestamp="@$SOURCE_DATE_EPOCH" \
    --subject="Lab" --add-metadata-string=version="$VERSION"
rm -rf tree

# The disk's root with one deployment, and what its boot loader reads.
mkdir sysroot
ostree admin init-fs --modern sysroot
ostree admin os-init --sysroot=sysroot rhcos
ostree config --repo=sysroot/ostree/repo set sysroot.bootloader none
ostree pull-local --repo=sysroot/ostree/repo repo lab/os
args=()
for karg in $KARGS; do
    args+=("--karg=$karg")
done
ostree admin deploy --sysroot=sysroot --os=rhcos "${args[@]}" lab/os
# Whoever copies or removes it may; not every file system had forbidden it.
chattr -i sysroot/ostree/deploy/rhcos/deploy/*.0 || true
rm -rf boot
mkdir boot
cp --archive sysroot/boot/. boot/
find sysroot/boot -mindepth 1 -delete

# The same commit is what images of nodes are built from.
"$OSTREE_CONTAINER" container encapsulate --repo=repo --label ostree.bootable=true lab/os oci:os-image

# coreos-installer takes from the live system what the disk's repository holds, by the names that it has there. Most of it the live system has
# once more under its own names: what it is packed by keeps the same content once.
mkdir -p live-tree/ostree/repo
mv repo/objects live-tree/ostree/repo/objects
rm -rf repo
tar --create --file root.tar --directory live-tree --sort=name --numeric-owner --xattrs --xattrs-include='*' \
    --mtime="@$SOURCE_DATE_EPOCH" --format=pax --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime .
rm -rf live-tree
