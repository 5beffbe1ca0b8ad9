//! The keyfiles against nmstate's own command line, and the script on machines made of folders.

mod hostile;
mod nmstatectl;
mod script;
