//! Discovery images over HTTP: what isokit lays out, streamed at the speed of the disk.
