//! Certificates in many shapes, each given to `openssl` too.

use assisted_base::pem::{PemError, blocks, certificates, plain, write_certificates};

use crate::openssl::{Material, letters, wrapped};

const LABEL: &str = "CERTIFICATE";
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// Whether the program takes a text. What it refuses and harms nobody may be read all the same.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Theirs {
    Read,
    Refused,
}
use Theirs::{Read, Refused};

/// Shapes that are read, by what they hold: how many certificates, and what the program says.
fn readable(one: &str, two: &str, key: &str) -> Vec<(&'static str, Vec<u8>, usize, Theirs)> {
    let all = letters(one);
    let lines = |columns, before, behind| wrapped(LABEL, &all, columns, before, behind);
    let mut shapes: Vec<(&str, String, usize, Theirs)> = vec![
        ("as written", one.to_owned(), 1, Read),
        ("one line", lines(usize::MAX, "", ""), 1, Read),
        ("CRLF", one.replace('\n', "\r\n"), 1, Read),
        ("one line, CRLF", lines(usize::MAX, "", "\r"), 1, Read),
        ("blanks behind lines", lines(64, "", " \t "), 1, Read),
        ("blanks before lines", lines(64, "  ", ""), 1, Read),
        ("blanks in lines", lines(64, "", "").replacen("MII", "M I\tI", 1), 1, Read),
        ("odd blanks behind lines", lines(64, "", "\u{a0}\u{c}"), 1, Read),
        ("an empty line first", one.replacen(BEGIN, &format!("{BEGIN}\n"), 1), 1, Read),
        ("an empty line last", one.replacen(END, &format!("\n{END}"), 1), 1, Refused),
        ("empty lines between", lines(64, "", "\n"), 1, Refused),
        ("blanks behind begin and end", one.replace("-----\n", "-----  \n"), 1, Read),
        ("no line end at the end", one.trim_end().to_owned(), 1, Read),
        ("a byte order mark", format!("\u{feff}{one}"), 1, Read),
        ("text before", format!("Bag Attributes\n    friendlyName: one\nsubject=CN = one\n\n{one}"), 1, Read),
        ("a long line before", format!("{}\n{one}", "x".repeat(3000)), 1, Read),
        ("text behind", format!("{one}garbage\n"), 1, Read),
        ("text around two", format!("# one\n{one}# two\n{two}# end\n"), 2, Read),
        ("two", format!("{one}{two}"), 2, Read),
        ("two in CRLF with empty lines between", format!("{one}\n\n{two}").replace('\n', "\r\n"), 2, Read),
        ("the same twice", format!("{one}{one}"), 2, Read),
        ("a key between", format!("{one}{key}{two}"), 2, Read),
        ("a key first", format!("{key}{one}{two}"), 2, Read),
        ("an older label", one.replace(LABEL, "X509 CERTIFICATE"), 1, Read),
        (
            "a head",
            one.replacen(BEGIN, &format!("{BEGIN}\nX-By: me\n"), 1).replacen("\nMII", "\n\nMII", 1),
            1,
            Refused,
        ),
        ("another block first", format!("{}{two}", one.replace(LABEL, "SOMETHING")), 1, Read),
        ("nothing", String::new(), 0, Read),
        ("text only", "hello\n".to_owned(), 0, Read),
        ("letters only", letters(one), 0, Read),
        ("a label in lower case", one.replace(LABEL, "certificate"), 0, Read),
        ("four dashes", one.replace("-----", "----"), 0, Read),
        ("everything in one line", one.replace('\n', ""), 0, Read),
    ];
    for columns in [1, 2, 3, 5, 63, 65, 76, 100, 253, 254, 255, 256, 257, 300, 1024] {
        shapes.push(("lines of another length", lines(columns, "", ""), 1, Read));
    }
    let mut shapes: Vec<_> = shapes
        .into_iter()
        .map(|(name, text, count, theirs)| (name, text.into_bytes(), count, theirs))
        .collect();
    shapes.push(("bytes before", [b"\xff\xfe\x80\n", one.as_bytes()].concat(), 1, Read));
    shapes
}

#[test]
fn what_openssl_reads_is_read() {
    let material = Material::new();
    let (one, two) = (material.text("one.crt"), material.text("two.crt"));
    let shapes = readable(&one, &two, &material.text("one.key"));
    for (name, text, count, theirs) in shapes {
        let ours = certificates(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(ours.len(), count, "{name}");
        let expected = material.certificates(&text);
        match theirs {
            Read => {
                let expected = expected.unwrap_or_else(|| panic!("{name}: openssl refuses it"));
                assert!(ours.iter().map(|found| found.to_vec()).eq(expected), "{name}");
            }
            Refused => assert_eq!(expected, None, "{name}"),
        }
        // Others get it as everybody reads it.
        let written = write_certificates(&ours);
        assert!(written.lines().all(|line| line.len() <= 64), "{name}");
        assert_eq!(certificates(written.as_bytes()).unwrap(), ours, "{name}");
    }
    let flat = wrapped(LABEL, &letters(&one), usize::MAX, "", "");
    assert_eq!(plain(&format!("# one\n{flat}")), one);
    for other in ["", "PEM\n", &one[..100]] {
        assert_eq!(plain(other), other, "what is no certificate is left to others");
    }
    assert_eq!(write_certificates(&certificates(one.as_bytes()).unwrap()), one, "written as openssl writes");
}

#[test]
fn what_openssl_makes_is_read() {
    let material = Material::new();
    material.make("x509 -in one.crt -text -out text");
    material.make("x509 -in one.crt -trustout -addtrust serverAuth -setalias me -out trusted");
    material.make("x509 -in one.crt -outform DER -out der");
    material.make("req -x509 -key one.key -subj /CN=odd -set_serial -7 -days 3650 -out negative");
    material.make("req -x509 -key one.key -subj /CN=far -set_serial 0x0102030405060708090a0b0c0d0e0f101112131415 -days 36500 -out long");
    material.make("req -x509 -newkey rsa:2048 -nodes -subj /CN=rsa -keyout rsa.key -days 3650 -out rsa");
    material.make("req -x509 -newkey ed25519 -nodes -subj /CN=ed -keyout ed.key -days 3650 -out ed");
    material.make("pkcs12 -export -in one.crt -inkey one.key -name me -passout pass: -out p12");
    material.make("pkcs12 -in p12 -passin pass: -nodes -out bag");
    for name in ["text", "trusted", "negative", "long", "rsa", "ed", "bag"] {
        let text = material.text(name);
        let ours = certificates(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let ours: Vec<_> = ours.iter().map(|found| found.to_vec()).collect();
        let expected = material.certificates(text.as_bytes()).unwrap();
        assert_eq!(ours, expected, "{name}");
        assert_eq!(ours.len(), 1, "{name}");
    }
}

/// Letters of any length: how they end decides whether they are complete.
#[test]
fn letters_end_as_openssl_wants_them() {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;

    let material = Material::new();
    let der = certificates(material.text("one.crt").as_bytes()).unwrap().remove(0);
    for behind in 0..3 {
        // Bytes behind a certificate count for nothing.
        let all = BASE64_STANDARD.encode([der.as_ref(), &vec![0; behind]].concat());
        let bare = all.trim_end_matches('=');
        let signs = all.len() - bare.len();
        let (mut shapes, mut read) =
            (vec![all.clone(), bare.to_owned(), format!("{all}="), format!("{all}AAAA")], 0);
        shapes.push(all[..all.len() - 1].to_owned());
        shapes.push(format!("{}B{}", &bare[..bare.len() - 1], &all[bare.len()..]));
        for shape in shapes {
            let text = wrapped(LABEL, &shape, 64, "", "");
            let ours = certificates(text.as_bytes()).ok().map(|found| found[0].to_vec());
            if shape.ends_with("AAAA") && signs == 0 {
                continue;
            }
            assert_eq!(ours, material.first(text.as_bytes()), "{behind} bytes, {} letters", shape.len());
            read += usize::from(ours.is_some());
        }
        assert!(read >= 2, "{read}");
    }
}

#[test]
fn what_is_broken_is_refused() {
    let material = Material::new();
    let (one, two) = (material.text("one.crt"), material.text("two.crt"));
    let all = letters(&one);
    let with = |letters: &str| wrapped(LABEL, letters, 64, "", "");
    let encoding = || PemError::Encoding(LABEL.into());
    let no_end = || PemError::NoEnd(LABEL.into());
    let other_end = || PemError::OtherEnd(LABEL.into());
    let no_der = || PemError::NoDer(LABEL.into());
    let changed = |sign: char| with(&format!("{}{sign}{}", &all[..100], &all[101..]));
    for (name, text, expected) in [
        ("a sign that is no letter", changed('*'), encoding()),
        ("a letter of the alphabet for addresses", changed('-'), encoding()),
        ("a zero", changed('\0'), encoding()),
        ("a comment inside", one.replacen(BEGIN, &format!("{BEGIN}\n# one"), 1), encoding()),
        ("a letter too few", with(&all[..all.len() - 1]), encoding()),
        ("padding in the middle", with(&format!("{}={}", &all[..64], &all[64..])), encoding()),
        ("bytes too few", with(&all[..all.len() - 4]), no_der()),
        ("nothing inside", with(""), no_der()),
        ("something else inside", with("AAAA"), no_der()),
        ("cut off", one[..300].to_owned(), no_end()),
        ("without its last line", one.replace(END, ""), no_end()),
        ("text in its last line", one.replace(END, &format!("{END}x")), no_end()),
        ("the next in its last line", format!("{}{two}", one.trim_end()), encoding()),
        ("another end", one.replace("END CERT", "END X509 CERT"), other_end()),
        ("the second cut off", format!("{one}{}", &two[..300]), no_end()),
        ("the second broken", format!("{one}{}", changed('!')), encoding()),
        ("the first broken", format!("{}{two}", changed('!')), encoding()),
        (
            "encrypted",
            one.replacen(BEGIN, &format!("{BEGIN}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n"), 1),
            no_der(),
        ),
    ] {
        assert_eq!(certificates(text.as_bytes()), Err(expected), "{name}");
        assert_eq!(material.certificates(text.as_bytes()), None, "{name}: openssl reads it");
    }
    // Here openssl reads the letters of the first one and passes over all of the second: nobody can have meant that.
    let joined = format!("{}{two}", one.replace(&format!("{END}\n"), ""));
    assert_eq!(certificates(joined.as_bytes()), Err(no_end()));
}

#[test]
fn errors_and_debug_tell_no_content() {
    let material = Material::new();
    let key = material.text("one.key");
    let found = blocks(key.as_bytes()).next().unwrap().unwrap();
    assert_eq!(found.label, "PRIVATE KEY");
    assert_eq!(
        format!("{found:?}"),
        format!("Block {{ label: \"PRIVATE KEY\", length: {} }}", found.content.len())
    );
    let broken = key.replacen("MI", "M*I", 1);
    let error = blocks(broken.as_bytes()).next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the block \"PRIVATE KEY\" is not base64");
    let endless = format!("-----BEGIN {}-----\n", "X".repeat(5000));
    let error = blocks(endless.as_bytes()).next().unwrap().unwrap_err();
    assert!(error.to_string().len() < 100, "{error}");
}
