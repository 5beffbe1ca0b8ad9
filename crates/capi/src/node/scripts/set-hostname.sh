#!/bin/bash
# Sets the name of the host: set_hostname NAME. A name that is not known changes nothing.
set -euo pipefail

[ -n "${1:-}" ] || exit 0
hostnamectl set-hostname "$1"
