//! A way in for the fuzz targets (`fuzz/`) to what reads notifications of the database. Nothing else calls this.

/// Reads a notification, and writes what it tells again; `None` where it is none of ours.
pub fn notification(payload: &str) -> Option<Vec<String>> {
    let read = crate::subject::decode(payload)?;
    Some(crate::subject::encode(read.sender, read.subjects))
}
