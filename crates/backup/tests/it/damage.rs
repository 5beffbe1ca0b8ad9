//! An archive that is damaged, cut or made by somebody else changes nothing.

use std::io::Write;

use assisted_backup::{DamageError, RestoreError, verify};
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header};

use crate::world::World;

/// Places in an archive that are tried.
const TRIED: usize = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_anywhere_changes_nothing() {
    let from = World::sqlite();
    from.fill().await;
    from.write(true).await;
    let whole = std::fs::read(from.archive()).unwrap();
    let damaged = from.dir.path().join("damaged");
    let (sqlite, postgres) = (World::sqlite(), World::postgres());
    for n in 0..TRIED {
        // Behind the head of gzip, whose name and time mean nothing.
        let at = 10 + (whole.len() - 10) * n / TRIED;
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        for content in [&changed[..], &whole[..at]] {
            std::fs::write(&damaged, content).unwrap();
            let to = if n % 2 == 0 { &sqlite } else { &postgres };
            let refused = to.restore(&damaged).await;
            assert!(matches!(&refused, Err(RestoreError::Damaged(_))), "{at}: {refused:?}");
        }
    }
    assert!(sqlite.is_empty().await && postgres.is_empty().await);
    sqlite.restore(&from.archive()).await.unwrap();
}

/// Name and content.
type Member<'a> = (&'a str, &'a [u8]);

/// An archive of these members.
fn archive(world: &World, members: &[Member<'_>]) -> Result<(), DamageError> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, content) in members {
        let mut header = Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        // Past the checks of the library, as a foreign program would.
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    let mut to = builder.into_inner().unwrap().finish().unwrap();
    to.flush().unwrap();
    std::fs::write(world.archive(), to).unwrap();
    verify(&world.archive()).map(drop)
}

/// The head of a member, of a type and a size, whatever comes behind it.
fn head(name: &str, kind: tar::EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_size(size);
    header.set_entry_type(kind);
    header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_cksum();
    header
}

#[test]
fn names_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("archive");
    let told = |members: &[(tar::EntryType, &[u8])]| {
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (kind, content) in members {
            builder.append(&head("././@LongLink", *kind, content.len() as u64), *content).unwrap();
        }
        std::fs::write(&path, builder.into_inner().unwrap().finish().unwrap()).unwrap();
        verify(&path).unwrap_err().to_string()
    };
    let long = vec![b'n'; 5000];
    assert!(told(&[(tar::EntryType::GNULongName, &long)]).contains("is too long"));
    let twice = told(&[(tar::EntryType::GNULongName, b"files/a"), (tar::EntryType::GNULongName, b"files/a")]);
    assert!(twice.contains("is there twice"), "{twice}");
    assert!(told(&[(tar::EntryType::GNULongName, b"files/a")]).contains("is cut"));
    assert!(told(&[(tar::EntryType::GNULongName, b"\xff")]).contains("is no text"));
    for kind in [tar::EntryType::GNULongLink, tar::EntryType::XHeader, tar::EntryType::GNUSparse] {
        let told = told(&[(kind, &long)]);
        assert!(told.contains("is no file"), "{kind:?}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_of_somebody_else_is_refused() {
    let world = World::sqlite();
    let manifest = |form: &str, members: &str| {
        format!(
            "{{\"form\":\"{form}\",\"program\":\"1\",\"made_at\":\"2026-01-01T00:00:00Z\",\"schema\":7,\"rows\":{{}},\
             \"seal_keys\":[],\"has_keys\":false,\"members\":[{members}]}}"
        )
    };
    let good = manifest("assisted-backup-1", "");
    archive(&world, &[("manifest.json", good.as_bytes())]).unwrap();

    let newer = manifest("assisted-backup-9", "");
    let cases: [(&[Member<'_>], &str); 10] = [
        (&[], "is cut"),
        (&[("manifest.json", b"{}")], "can't be read"),
        (&[("manifest.json", newer.as_bytes())], "assisted-backup-9"),
        (&[("files/../../etc/passwd", b"x"), ("manifest.json", good.as_bytes())], "a name that no file has"),
        (&[("/etc/passwd", b"x"), ("manifest.json", good.as_bytes())], "no member of a backup"),
        (&[("data/other", b"x"), ("manifest.json", good.as_bytes())], "no member of a backup"),
        (&[("files/a", b"x"), ("manifest.json", good.as_bytes())], "not in the manifest"),
        (&[("files/a", b"x"), ("files/a", b"y"), ("manifest.json", good.as_bytes())], "is there twice"),
        (&[("manifest.json", good.as_bytes()), ("files/a", b"x")], "comes after the manifest"),
        (&[("rows/clusters/0", b"[]\n"), ("manifest.json", good.as_bytes())], "not in the manifest"),
    ];
    for (members, told) in cases {
        let error = archive(&world, members).unwrap_err().to_string();
        assert!(error.contains(told), "{told}: {error}");
    }
    let missing = manifest("assisted-backup-1", "{\"name\":\"files/a\",\"bytes\":1,\"sha256\":\"00\"}");
    let error = archive(&world, &[("manifest.json", missing.as_bytes())]).unwrap_err().to_string();
    assert!(error.contains("files/a is missing"), "{error}");
    std::fs::write(world.archive(), "no archive").unwrap();
    assert!(matches!(verify(&world.archive()), Err(DamageError::Format(_))));
    assert!(matches!(verify(&world.dir.path().join("none")), Err(DamageError::Read(_))));
    assert!(world.is_empty().await);
}
