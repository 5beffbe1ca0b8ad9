//! What the service tells an agent, and what tools on the host print.

use crate::input;

pub fn run(bytes: &[u8]) {
    if let Some(followed) = assisted_agent::fuzz::answer(bytes) {
        assert!(followed <= 64, "instructions are bounded");
    }
    assisted_agent::fuzz::outputs(bytes);
    let Some(text) = input::text(bytes) else { return };
    if assisted_agent::fuzz::image(text) {
        assert!(!text.starts_with('-'), "no image is taken for an option");
    }
    for argument in assisted_agent::fuzz::installation(text).into_iter().flatten() {
        assert!(!argument.contains('\n'), "an argument is one line");
    }
}
