#!/bin/sh
# A service that has a reason not to start.
echo no disk >&2
