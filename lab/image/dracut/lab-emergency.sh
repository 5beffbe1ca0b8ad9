#!/bin/bash
# Nobody sits there to look around: tell what is known.
echo
journalctl --boot --no-pager --output cat --lines 120
echo "Entering emergency mode: the initramfs gave up, see above"
