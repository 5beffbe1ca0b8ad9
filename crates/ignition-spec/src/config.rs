//! The types of an Ignition config, specification 3.2.0; 3.1.0 is a subset.
//!
//! A config carries tokens and pull secrets, so nothing here has `Debug`.

use crate::members::members;
use crate::resource::Resource;

members! {
    /// A whole config.
    Config {
        ignition: Ignition,
        passwd: Passwd,
        storage: Storage,
        systemd: Systemd,
    }

    Ignition {
        config: IgnitionConfig,
        proxy: Proxy,
        security: Security,
        timeouts: Timeouts,
        version: String,
    }

    IgnitionConfig {
        merge: Vec<Resource>,
        replace: Resource,
    }

    Proxy {
        http_proxy: Option<String>,
        https_proxy: Option<String>,
        no_proxy: Vec<String>,
    }

    Security {
        tls: Tls,
    }

    Tls {
        certificate_authorities: Vec<Resource>,
    }

    /// In seconds.
    Timeouts {
        http_response_headers: Option<i64>,
        http_total: Option<i64>,
    }

    Passwd {
        groups: Vec<Group>,
        users: Vec<User>,
    }

    Group {
        gid: Option<i64>,
        name: String,
        password_hash: Option<String>,
        should_exist: Option<bool>,
        system: Option<bool>,
    }

    User {
        gecos: Option<String>,
        groups: Vec<String>,
        home_dir: Option<String>,
        name: String,
        no_create_home: Option<bool>,
        no_log_init: Option<bool>,
        no_user_group: Option<bool>,
        password_hash: Option<String>,
        primary_group: Option<String>,
        ssh_authorized_keys: Vec<String>,
        shell: Option<String>,
        should_exist: Option<bool>,
        system: Option<bool>,
        uid: Option<i64>,
    }

    Storage {
        directories: Vec<Directory>,
        disks: Vec<Disk>,
        files: Vec<File>,
        filesystems: Vec<Filesystem>,
        links: Vec<Link>,
        luks: Vec<Luks>,
        raid: Vec<Raid>,
    }

    /// Who a file, directory or link belongs to.
    Owner {
        id: Option<i64>,
        name: Option<String>,
    }

    Directory {
        group: Owner,
        overwrite: Option<bool>,
        path: String,
        user: Owner,
        mode: Option<u32>,
    }

    File {
        group: Owner,
        overwrite: Option<bool>,
        path: String,
        user: Owner,
        append: Vec<Resource>,
        contents: Resource,
        /// Permission bits; a decimal number on the wire.
        mode: Option<u32>,
    }

    Link {
        group: Owner,
        overwrite: Option<bool>,
        path: String,
        user: Owner,
        hard: Option<bool>,
        target: String,
    }

    Disk {
        device: String,
        partitions: Vec<Partition>,
        wipe_table: Option<bool>,
    }

    Partition {
        guid: Option<String>,
        label: Option<String>,
        number: i64,
        resize: Option<bool>,
        should_exist: Option<bool>,
        #[serde(rename = "sizeMiB")]
        size_mib: Option<i64>,
        #[serde(rename = "startMiB")]
        start_mib: Option<i64>,
        type_guid: Option<String>,
        wipe_partition_entry: Option<bool>,
    }

    Filesystem {
        device: String,
        format: Option<String>,
        label: Option<String>,
        mount_options: Vec<String>,
        options: Vec<String>,
        path: Option<String>,
        uuid: Option<String>,
        wipe_filesystem: Option<bool>,
    }

    Luks {
        clevis: Option<Clevis>,
        device: Option<String>,
        key_file: Resource,
        label: Option<String>,
        name: String,
        options: Vec<String>,
        uuid: Option<String>,
        wipe_volume: Option<bool>,
    }

    Clevis {
        custom: Option<Custom>,
        tang: Vec<Tang>,
        threshold: Option<i64>,
        tpm2: Option<bool>,
    }

    Custom {
        config: String,
        needs_network: Option<bool>,
        pin: String,
    }

    Tang {
        thumbprint: Option<String>,
        url: String,
    }

    Raid {
        devices: Vec<String>,
        level: String,
        name: String,
        options: Vec<String>,
        spares: Option<i64>,
    }

    Systemd {
        units: Vec<Unit>,
    }

    Unit {
        contents: Option<String>,
        dropins: Vec<Dropin>,
        enabled: Option<bool>,
        mask: Option<bool>,
        name: String,
    }

    Dropin {
        contents: Option<String>,
        name: String,
    }
}

impl Config {
    /// An empty config of a version, such as `3.1.0`.
    pub fn new(version: &str) -> Self {
        let ignition = Ignition { version: version.to_owned(), ..Ignition::default() };
        Self { ignition, ..Self::default() }
    }

    /// The config as compact JSON; equal configs give equal bytes.
    ///
    /// # Errors
    ///
    /// None that a config of these types can have.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    /// Adds a file that belongs to root and takes the place of one that is there.
    pub fn add_file(&mut self, path: &str, mode: u32, contents: Resource) {
        self.storage.files.push(File {
            path: path.to_owned(),
            mode: Some(mode),
            overwrite: Some(true),
            user: Owner { name: Some("root".to_owned()), ..Owner::default() },
            contents,
            ..File::default()
        });
    }

    /// Adds a unit that is started at boot.
    pub fn add_unit(&mut self, name: &str, contents: impl Into<String>) {
        self.systemd.units.push(Unit {
            name: name.to_owned(),
            enabled: Some(true),
            contents: Some(contents.into()),
            ..Unit::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A value for each member of the specification.
    fn everything() -> Value {
        let resource = json!({
            "compression": "gzip", "httpHeaders": [{"name": "a", "value": "b"}], "source": "http://a/b",
            "verification": {"hash": "sha512-00"},
        });
        let node = |more: Value| {
            let mut node = json!({
                "group": {"id": 1}, "overwrite": false, "path": "/a", "user": {"name": "core"},
            });
            node.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            node
        };
        json!({
            "ignition": {
                "config": {"merge": [resource], "replace": resource},
                "proxy": {"httpProxy": "http://p", "httpsProxy": "http://q", "noProxy": ["a"]},
                "security": {"tls": {"certificateAuthorities": [resource]}},
                "timeouts": {"httpResponseHeaders": 1, "httpTotal": 0},
                "version": "3.2.0",
            },
            "passwd": {
                "groups": [{"gid": 1, "name": "g", "passwordHash": "x", "shouldExist": true, "system": false}],
                "users": [{
                    "gecos": "a", "groups": ["g"], "homeDir": "/h", "name": "u", "noCreateHome": true, "noLogInit": true,
                    "noUserGroup": true, "passwordHash": "!", "primaryGroup": "g", "sshAuthorizedKeys": ["k"],
                    "shell": "/s", "shouldExist": true, "system": true, "uid": 0,
                }],
            },
            "storage": {
                "directories": [node(json!({"mode": 493}))],
                "disks": [{"device": "/dev/a", "partitions": [{
                    "guid": "a", "label": "b", "number": 1, "resize": true, "shouldExist": true, "sizeMiB": 0,
                    "startMiB": 1, "typeGuid": "c", "wipePartitionEntry": true,
                }], "wipeTable": true}],
                "files": [node(json!({"append": [resource], "contents": resource, "mode": 420}))],
                "filesystems": [{"device": "/dev/a", "format": "xfs", "label": "l", "mountOptions": ["m"], "options": ["o"],
                    "path": "/p", "uuid": "u", "wipeFilesystem": true}],
                "links": [node(json!({"hard": true, "target": "/t"}))],
                "luks": [{"clevis": {"custom": {"config": "c", "needsNetwork": true, "pin": "p"},
                    "tang": [{"thumbprint": "t", "url": "http://t"}], "threshold": 1, "tpm2": true},
                    "device": "/dev/a", "keyFile": resource, "label": "l", "name": "n", "options": ["o"], "uuid": "u",
                    "wipeVolume": true}],
                "raid": [{"devices": ["/dev/a"], "level": "raid1", "name": "n", "options": ["o"], "spares": 0}],
            },
            "systemd": {"units": [{"contents": "c", "dropins": [{"contents": "c", "name": "d.conf"}], "enabled": true,
                "mask": false, "name": "u.service"}]},
        })
    }

    #[test]
    fn nothing_of_the_specification_is_lost() {
        let config: Config = serde_json::from_value(everything()).unwrap();
        assert_eq!(serde_json::to_value(&config).unwrap(), everything());
    }

    #[test]
    fn what_is_empty_is_left_out() {
        let json = Config::new("3.1.0").to_json().unwrap();
        assert_eq!(json, br#"{"ignition":{"version":"3.1.0"}}"#);
    }
}
