#!/bin/bash
# On Oracle's cloud, runs the script that the instance was given as its user data.
set -uo pipefail
case $(uname -m) in
    ppc64le | s390x) exit 0 ;;
esac
[ "$(dmidecode --string chassis-asset-tag 2>/dev/null)" = OracleCloud.com ] || exit 0
data=$(curl --silent --show-error --max-time 30 --retry 5 --retry-delay 30 --header 'Authorization: Bearer Oracle' \
    http://169.254.169.254/opc/v2/instance/metadata/user_data) || exit 1
case $data in
    '' | *'404 Not Found'*) exit 0 ;;
esac
base64 --decode <<<"$data" | bash
