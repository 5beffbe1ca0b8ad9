#!/bin/bash
# The last value of a kernel argument. isolinux passes quotation marks on, GRUB does not.
set -euo pipefail

value=
for word in $(</proc/cmdline); do
    if [[ $word == "$1="* ]]; then
        value=${word#*=}
    fi
done
value=${value#\"}
echo "${value%\"}"
