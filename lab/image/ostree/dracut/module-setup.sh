#!/bin/bash
# dracut module: the root of an installed system that ostree has laid out, in the place of the plain one.

check() {
    return 255
}

depends() {
    echo assisted-lab ostree
}

install() {
    inst_multiple cp touch xfs_growfs
    # The plain system's would make a file system larger that is another here.
    rm -f "$initdir/usr/libexec/lab-installed-root"
    inst_script "$moddir/lab-installed-root.sh" /usr/libexec/lab-installed-root
    inst_script "$moddir/lab-ostree-var.sh" /usr/libexec/lab-ostree-var
    inst_simple "$moddir/prepare-root.conf" /etc/systemd/system/ostree-prepare-root.service.d/lab.conf
}
