//! Answers of management controllers.

pub fn run(bytes: &[u8]) {
    let Ok(answer) = serde_json::from_slice(bytes) else { return };
    for path in assisted_bmc::fuzz::answer(&answer) {
        assert!(path.starts_with('/'), "a controller leads nowhere else");
    }
}
