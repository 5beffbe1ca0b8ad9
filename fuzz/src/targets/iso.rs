//! Live images: the file system, its areas, and all that is made of an image. The input begins behind the system area, so that
//! it is short; sectors that it does not have are zeros.

use assisted_isokit::{Archive, Image, Layout, Thresholds, inspect};
use bytes::Bytes;

const SYSTEM_AREA: usize = 32 << 10;
/// Length of the image.
const WHOLE: usize = 512 << 10;

pub fn run(bytes: &[u8]) {
    let mut whole = vec![0; SYSTEM_AREA];
    whole.extend_from_slice(bytes.get(..(WHOLE - SYSTEM_AREA).min(bytes.len())).unwrap_or_default());
    whole.resize(WHOLE, 0);
    let whole = Bytes::from(whole);
    let _ = inspect(&whole);
    let mut layout = Layout::default();
    layout.push(whole);
    let Ok(image) = Image::read(layout) else { return };
    let _ = image.check(Thresholds::default());
    for node in image.iso().nodes() {
        let _ = image.content(node).len();
    }
    let Ok(archive) = Archive::new(br#"{"ignition":{"version":"3.2.0"}}"#) else { return };
    let kargs = ["quiet".to_owned()];
    if let Ok(customised) = image.customise(&archive, Some(&kargs), Some(Bytes::from_static(b"x"))) {
        assert_eq!(customised.len(), image.layout().len(), "a customised image is as long as its base");
    }
    let _ = (image.kernel().is_ok(), image.rootfs().is_ok(), image.ins_file().is_ok());
}
