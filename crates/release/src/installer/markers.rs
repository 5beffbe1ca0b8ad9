//! What an installer program knows of the release that it came from: three places in it are kept free for that.

use std::io;

/// What is written into the program.
#[derive(Clone, Debug)]
pub(crate) struct Markers {
    /// The release image by digest.
    pub image: String,
    pub version: String,
    /// `multi` for a release that serves several.
    pub architecture: String,
}

/// Names and whole lengths of the places.
const IMAGE: (&str, usize) = ("_RELEASE_IMAGE_LOCATION_", 327);
const VERSION: (&str, usize) = ("_RELEASE_VERSION_LOCATION_", 93);
const ARCHITECTURE: (&str, usize) = ("_RELEASE_ARCHITECTURE_LOCATION_", 98);

/// The longest of the places.
const LONGEST: usize = IMAGE.1;

/// Fills the first place of each kind while a program is written.
pub(crate) struct Filter {
    open: Vec<Placeholder>,
    /// The end of what was pushed: a place may begin in it.
    held: Vec<u8>,
}

struct Placeholder {
    pattern: Vec<u8>,
    value: Vec<u8>,
}

impl Markers {
    pub(crate) fn filter(&self) -> Filter {
        let all = [(IMAGE, &self.image), (VERSION, &self.version), (ARCHITECTURE, &self.architecture)];
        let place = |((name, length), value): ((&str, usize), &String)| {
            let mut value = value.clone().into_bytes();
            value.push(0);
            // What does not fit is left out: the placeholder stays as it is.
            (value.len() <= length).then(|| Placeholder { pattern: pattern(name, length), value })
        };
        Filter { open: all.into_iter().filter_map(place).collect(), held: Vec::new() }
    }
}

fn pattern(name: &str, length: usize) -> Vec<u8> {
    let mut pattern = vec![0];
    pattern.extend_from_slice(name.as_bytes());
    pattern.push(0);
    pattern.resize(length - 1, b'X');
    pattern.push(0);
    pattern
}

impl Filter {
    /// Takes the next piece, and writes what is settled.
    pub(crate) fn push(
        &mut self,
        piece: &[u8],
        write: &mut impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.open.is_empty() {
            return self.flush(piece, write);
        }
        self.held.extend_from_slice(piece);
        self.open.retain(|place| match memchr::memmem::find(&self.held, &place.pattern) {
            Some(at) => {
                if let Some(target) = self.held.get_mut(at..at + place.value.len()) {
                    target.copy_from_slice(&place.value);
                }
                false
            }
            None => true,
        });
        let settled = self.held.len().saturating_sub(LONGEST - 1);
        write(self.held.get(..settled).unwrap_or_default())?;
        self.held.drain(..settled);
        Ok(())
    }

    fn flush(&mut self, piece: &[u8], write: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if !self.held.is_empty() {
            write(&std::mem::take(&mut self.held))?;
        }
        write(piece)
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self, write: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let unfilled: Vec<_> = self.open.iter().map(|place| place.pattern.len()).collect();
        if !unfilled.is_empty() {
            tracing::debug!(
                places = unfilled.len(),
                "the installer program has no place for what it would be told"
            );
        }
        self.flush(&[], write)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn markers() -> Markers {
        Markers {
            image: "quay.io/a@sha256:00".into(),
            version: "4.22.9".into(),
            architecture: "x86_64".into(),
        }
    }

    fn filtered(markers: &Markers, input: &[u8], piece: usize) -> Vec<u8> {
        let mut output = Vec::new();
        let mut write = |piece: &[u8]| {
            output.extend_from_slice(piece);
            Ok(())
        };
        let mut filter = markers.filter();
        for piece in input.chunks(piece) {
            filter.push(piece, &mut write).unwrap();
        }
        filter.finish(&mut write).unwrap();
        output
    }

    fn encoded(value: &str, (name, length): (&str, usize)) -> Vec<u8> {
        let mut place = pattern(name, length);
        place[..value.len()].copy_from_slice(value.as_bytes());
        place[value.len()] = 0;
        place
    }

    fn program(places: [&[u8]; 3]) -> Vec<u8> {
        let [image, version, architecture] = places;
        [b"\x7fELF".as_slice(), image, &[7; 500], version, architecture, b"end"].concat()
    }

    #[test]
    fn lengths() {
        for (name, length) in [IMAGE, VERSION, ARCHITECTURE] {
            let pattern = pattern(name, length);
            assert_eq!(
                (pattern.len(), pattern[0], pattern[length - 1], pattern[name.len() + 1]),
                (length, 0, 0, 0)
            );
        }
    }

    #[test]
    fn only_the_first_place_is_filled() {
        let place = pattern(IMAGE.0, IMAGE.1);
        let twice = [place.clone(), place.clone()].concat();
        let expected = [encoded("quay.io/a@sha256:00", IMAGE), place].concat();
        assert_eq!(filtered(&markers(), &twice, 100), expected);
    }

    #[test]
    fn what_is_too_long_is_not_told() {
        let place = pattern(VERSION.0, VERSION.1);
        let long = Markers { version: "9".repeat(VERSION.1), ..markers() };
        assert_eq!(filtered(&long, &place, 10), place);
        let just = Markers { version: "9".repeat(VERSION.1 - 1), ..markers() };
        assert_eq!(filtered(&just, &place, 10), [vec![b'9'; VERSION.1 - 1], vec![0]].concat());
    }

    proptest! {
        #[test]
        fn places_are_found_across_pieces(piece in 1usize..2000) {
            let empty = [IMAGE, VERSION, ARCHITECTURE].map(|(name, length)| pattern(name, length));
            let full = [encoded("quay.io/a@sha256:00", IMAGE), encoded("4.22.9", VERSION), encoded("x86_64", ARCHITECTURE)];
            let [a, b, c] = &empty;
            let input = program([a, b, c]);
            let [a, b, c] = &full;
            prop_assert_eq!(filtered(&markers(), &input, piece), program([a, b, c]));
        }

        #[test]
        fn all_else_stays(input in prop::collection::vec(any::<u8>(), 0..2000), piece in 1usize..300) {
            prop_assert_eq!(filtered(&markers(), &input, piece), input);
        }
    }
}
