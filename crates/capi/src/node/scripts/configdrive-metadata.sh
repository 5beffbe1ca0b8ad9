#!/bin/bash
# Writes the metadata of the config drive as variables METADATA_<KEY>, one a line, for units and scripts.
set -euo pipefail

drive=/dev/disk/by-label/config-2
target=/etc/metadata_env

if [ ! -e "$drive" ]; then
    [ -e "$target" ] || : > "$target"
    exit 0
fi
place=$(mktemp -d)
mount -o ro "$drive" "$place"
trap 'umount "$place"; rmdir "$place"' EXIT
# A value of one line; one that is more than a word is quoted.
jq -r 'to_entries[]
    | select(.value | type == "string" or type == "number" or type == "boolean")
    | .value |= tostring
    | select(.value | test("\n") | not)
    | .value |= (if test("^[A-Za-z0-9._:/@+-]*$") then . else @sh end)
    | "METADATA_\(.key | ascii_upcase | gsub("-"; "_"))=\(.value)"' \
    "$place/openstack/latest/meta_data.json" | LC_ALL=C sort -u > "$target.new"
mv -f "$target.new" "$target"
