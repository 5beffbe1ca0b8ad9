#!/bin/sh
# Says what it was asked for and where it listens, as a service does, and stays.
echo "$@" >&2
echo "listening on http://127.0.0.1:$PORT"
exec sleep 60
