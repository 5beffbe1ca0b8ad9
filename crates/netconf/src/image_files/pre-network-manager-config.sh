#!/bin/sh
# Gives this machine the network settings that were made for it, found by the MAC addresses of its interfaces.
#
# Each folder hostN holds the settings of one machine: mac_interface.ini with a line MAC=name for each interface, and
# keyfiles with marks @MAC+LENGTH@ for the name that the interface with this address has here, cut to that length.
# Without settings for this machine nothing is changed.
set -eu
umask 077

root=${ROOT:-}
settings=$root/etc/assisted/network
[ -d "$settings" ] || exit 0

target=$root/etc/NetworkManager/system-connections
[ ! -e "$root/etc/initrd-release" ] || target=$root/etc/coreos-firstboot-network

say() {
    echo "network settings: $*" >&2
}

interfaces() {
    for link in "$root"/sys/class/net/*; do
        case ${link##*/} in
            lo | '*' | *[!A-Za-z0-9._:-]*) ;;
            *) echo "${link##*/}" ;;
        esac
    done
}

sleep "${DISCOVERY_DELAY_SECONDS:-0}"

# Drivers may still be at work: the interfaces count once they have been the same for three seconds.
wanted=${QUIET_SECONDS:-3}
known=$(interfaces)
quiet=0
waited=0
while [ "$quiet" -lt "$wanted" ] && [ "$waited" -lt 30 ]; do
    sleep 1
    waited=$((waited + 1))
    now=$(interfaces)
    if [ "$now" = "$known" ]; then
        quiet=$((quiet + 1))
    else
        quiet=0
        known=$now
    fi
done

work=$root/run/assisted-network.$$
mkdir -p "$work/new"
trap 'rm -rf "$work"' EXIT

edits=$work/edits
: >"$edits"
here=' '
for name in $known; do
    link=$root/sys/class/net/$name
    # What lies on top of another interface has the other's address.
    [ ! -d "$link/bonding" ] && [ ! -d "$link/bridge" ] || continue
    set -- "$link"/lower_*
    [ ! -e "$1" ] || continue
    # A port of a bond shows the address of the bond.
    mac=$(cat "$link/bonding_slave/perm_hwaddr" 2>/dev/null || cat "$link/address" 2>/dev/null) || continue
    case $mac in
        '' | *[!0-9a-f:]*) continue ;;
    esac
    here="$here$mac "
    length=15
    while [ "$length" -gt 0 ]; do
        printf "s|@%s+%s@|%.${length}s|g\\n" "$mac" "$length" "$name" >>"$edits"
        length=$((length - 1))
    done
done
# What is left belongs to interfaces that are not here.
echo '/@[0-9a-f:]*+[0-9]*@/d' >>"$edits"

for host in "$settings"/host*; do
    [ -f "$host/mac_interface.ini" ] || continue
    found=
    while IFS='=' read -r mac _ || [ -n "$mac" ]; do
        case $here in
            *" $mac "*) found=yes ;;
        esac
    done <"$host/mac_interface.ini"
    [ -n "$found" ] || continue
    say "this machine is ${host##*/}"
    for file in "$host"/*.nmconnection; do
        [ -f "$file" ] || continue
        name=$(printf '%s\n' "${file##*/}" | sed -f "$edits")
        if [ -z "$name" ]; then
            say "${file##*/} is for an interface that is not here"
        elif [ -e "$work/new/$name" ]; then
            say "$name of ${host##*/} is left out: another host folder has one of this name"
        else
            sed -f "$edits" "$file" >"$work/new/$name"
        fi
    done
done

set -- "$work"/new/*
if [ ! -e "$1" ]; then
    say "there are none for this machine"
    exit 0
fi
mkdir -p "$target"
rm -rf "${target:?}"/*
cp "$@" "$target"
