#!/bin/bash
# Tells the kubelet its labels and its provider id: kubelet_custom_labels PROVIDER_ID [KEY=VALUE...]
set -euo pipefail

provider_id=$1
shift
environment=/etc/kubernetes/kubelet-env
mkdir -p "${environment%/*}"
touch "$environment"
# What an earlier boot wrote is written anew.
kept=$(grep -v -e '^CUSTOM_KUBELET_LABELS=' -e '^KUBELET_PROVIDERID=' "$environment" || true)
{
    [ -z "$kept" ] || printf '%s\n' "$kept"
    if [ "$#" -gt 0 ]; then
        labels=$(IFS=,; printf '%s' "$*")
        printf 'CUSTOM_KUBELET_LABELS=%s\n' "$labels"
    fi
    [ -z "$provider_id" ] || printf 'KUBELET_PROVIDERID=%s\n' "$provider_id"
} > "$environment.new"
mv -f "$environment.new" "$environment"
if [ -n "$provider_id" ]; then
    printf '%s\n' "$provider_id" > /run/kubelet-provider-id
fi
