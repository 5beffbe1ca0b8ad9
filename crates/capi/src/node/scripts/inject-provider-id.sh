#!/bin/bash
# Gives the kubelet --provider-id, by a drop-in with the start command that it has.
set -euo pipefail

id=$(cat /run/kubelet-provider-id 2>/dev/null || true)
[ -n "$id" ] || exit 0
# The last start command that counts, with its continued lines joined.
start=$(systemctl cat kubelet.service | awk '
    /\\$/ { sub(/\\$/, ""); line = line $0 " "; next }
    { line = line $0; if (line ~ /^ExecStart=./) last = substr(line, 11); line = "" }
    END { print last }')
if [ -z "$start" ]; then
    echo "the kubelet has no start command" >&2
    exit 1
fi
case $start in
    *--provider-id*) exit 0 ;;
esac
escaped=$(printf '%s' "$id" | sed -e 's/[\\"]/\\&/g' -e 's/[$%]/&&/g')
folder=/etc/systemd/system/kubelet.service.d
mkdir -p "$folder"
printf '[Service]\nExecStart=\nExecStart=%s --provider-id="%s"\n' "$start" "$escaped" > "$folder/20-provider-id.conf"
systemctl daemon-reload
