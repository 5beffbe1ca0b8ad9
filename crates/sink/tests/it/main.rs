//! Messages to a broker and to a server that take them, are away, and refuse.

mod kafka;
mod webhook;
