//! Sources of time (NTP).

use super::TimeSources;
use super::os::shell_word;
use assisted_ignition_spec::config::Config;
use assisted_ignition_spec::resource::Resource;

pub(super) fn add(config: &mut Config, sources: TimeSources<'_>) {
    let (script, list) = match sources {
        TimeSources::Own => return,
        TimeSources::Additional(list) => (include_str!("scripts/add-ntp-sources.sh"), list),
        TimeSources::Only(list) => (include_str!("scripts/replace-ntp-sources.sh"), list),
    };
    let words: Vec<String> = list.split(',').filter(|source| !source.is_empty()).map(shell_word).collect();
    if words.is_empty() {
        return;
    }
    let script = script.replace("@SOURCES@", &words.join(" "));
    config.add_file("/usr/local/bin/add-ntp-sources.sh", 0o755, Resource::bytes(script));
    config.add_unit("add-ntp-sources.service", include_str!("units/add-ntp-sources.service"));
}
