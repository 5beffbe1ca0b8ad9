#!/bin/bash
# What systemd does in a system without an identity, for a tenth of the time: it would look at every unit that there is.
set -euo pipefail

identity=/sysroot/etc/machine-id
if [[ ! -s $identity ]]; then
    tr -d - </proc/sys/kernel/random/uuid >"$identity"
fi
presets=/sysroot/etc/systemd/system-preset/20-ignition.preset
if [[ -e $presets ]]; then
    while read -r verb unit; do
        case $verb in
        # What can't be enabled is no reason not to start, as in systemd.
        enable | disable) systemctl --root=/sysroot "$verb" "$unit" || true ;;
        esac
    done <"$presets"
fi
