//! The settings of networks that a full image carries.

use assisted_netconf::{File, image_files};

use assisted_ignition_spec::config::Config;
use assisted_ignition_spec::resource::Resource;

pub(super) fn add(config: &mut Config, files: &[File]) {
    if files.is_empty() {
        return;
    }
    for file in files {
        config.add_file(&file.path, file.mode, Resource::bytes(&file.content));
    }
    config.add_unit(image_files::UNIT, image_files::ROOT_UNIT);
}
