//! Servers that tests of one process share.

use crate::Error;

/// Starts a server that lives as long as the process: its address. A server ends with the thread that has started it, so it gets one of
/// its own.
pub(crate) fn shared<S: 'static>(
    start: fn() -> Result<S, Error>,
    url: fn(&S) -> String,
) -> Result<String, Error> {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let server = start();
        let _ = send.send(server.as_ref().map(url).map_err(ToString::to_string));
        loop {
            std::thread::park();
        }
    });
    match receive.recv() {
        Ok(Ok(url)) => Ok(url),
        Ok(Err(log)) => Err(Error::Silent { log }),
        Err(_) => Err(Error::Silent { log: String::new() }),
    }
}
