#!/bin/bash
# Ignition's generator asks: is there no disk to boot from?
[[ -e /etc/coreos-live-initramfs ]]
