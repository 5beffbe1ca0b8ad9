//! Whoever is given a reader can't write.

use assisted_store::{Batch, Reader, Store};

/// What stands in for a method that a type does not have.
#[derive(Debug, PartialEq, Eq)]
struct Absent;

/// A type's own method goes before one of a trait: what is called here is its own, if it has one.
trait Write {
    fn write(&self, batch: Batch) -> Absent;
}

impl Write for Reader {
    fn write(&self, _: Batch) -> Absent {
        Absent
    }
}

#[tokio::test]
async fn a_reader_has_no_way_to_write() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&format!("sqlite:{}", dir.path().join("test.db").display())).await.unwrap();
    let reader: &Reader = &store;
    reader.ping().await.unwrap();
    // This does not compile once a reader has a method of this name.
    assert_eq!(reader.write(Batch::default()), Absent);
    assert!(store.write(Batch::default()).await.is_ok());
}
