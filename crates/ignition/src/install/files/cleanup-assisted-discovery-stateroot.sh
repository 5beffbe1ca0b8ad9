#!/bin/bash
# Removes the root that the discovery system ran from, once the installed one has booted.
set -euo pipefail

mount -o remount,rw /sysroot
for stateroot in rhcos install; do
    if [[ -d "/sysroot/ostree/deploy/${stateroot}" ]]; then
        rpm-ostree cleanup --os="${stateroot}" --pending --rollback --repomd || true
    fi
done
systemctl stop rpm-ostreed
rm -rf /sysroot/ostree/deploy/rhcos
systemctl start rpm-ostreed
