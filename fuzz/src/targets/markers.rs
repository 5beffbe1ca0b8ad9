//! The places of an installer program that are filled in, in whatever pieces it comes.

use assisted_release::fuzz::markers;

use crate::input;

pub fn run(bytes: &[u8]) {
    let (choice, content) = input::choice(bytes);
    // A byte that no name has stands for a whole place of the kind that is looked for.
    let program: Vec<u8> =
        content.iter().flat_map(|byte| if *byte == 0xff { place() } else { vec![*byte] }).collect();
    let pieces: Vec<_> = program.chunks(choice + 1).collect();
    let (Ok(whole), Ok(piecewise)) = (markers(&[&program]), markers(&pieces)) else { return };
    assert_eq!(whole, piecewise, "pieces make no difference");
    assert_eq!(whole.len(), program.len(), "a program keeps its length");
}

fn place() -> Vec<u8> {
    let mut place = b"\0_RELEASE_VERSION_LOCATION_\0".to_vec();
    place.resize(92, b'X');
    place.push(0);
    place
}
