#!/bin/sh
# Gives chrony these time sources alone.
set -eu
conf=${ROOT:-}/etc/chrony.conf
{
    for source in @SOURCES@; do
        echo "server $source iburst"
    done
    cat <<'END'
sourcedir /run/chrony-dhcp
driftfile /var/lib/chrony/drift
makestep 1.0 -1
rtcsync
logdir /var/log/chrony
END
} >"$conf.new"
mv "$conf.new" "$conf"
