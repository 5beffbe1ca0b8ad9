#!/bin/bash
# The folders of /var as the tree's packages have made them, which no deployment brings: what is there already stays.
set -euo pipefail

cp --archive --no-clobber /sysroot/usr/share/factory/var/. /sysroot/var/
