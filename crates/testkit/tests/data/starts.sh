#!/bin/sh
# Says where it listens and what it was asked for, as a service does, and stays.
echo "listening on http://127.0.0.1:$PORT"
echo "$@" >&2
exec sleep 60
