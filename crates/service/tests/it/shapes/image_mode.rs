//! Image mode where patches come into play, and where nobody asks for it.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_asks_for_changes_no_file() {
    let site = Site::new();
    site.release(VERSION, assisted_testkit::oci::OPENSHIFT_INSTALL).await;
    let generator = site.generator();
    let install_config = |files: &Files| {
        let found = files.contents.iter().find(|(name, _)| name == "install-config.yaml");
        found.unwrap().1.clone()
    };
    for shape in [
        Shape::new("baremetal-ha", [3, 0, 2], V4),
        Shape::new("none-single-node", [1, 0, 0], V4).on("none", true),
    ] {
        let plain = shape.generate(&site, &*generator).await;
        let previewing = shape.set(|policy| policy.layering.preview = true);
        let previewed = previewing.generate(&site, &*generator).await;
        assert_eq!(stable_parts(&plain), stable_parts(&previewed), "{}", previewing.name);
        assert_eq!(install_config(&plain), install_config(&previewed), "{}", previewing.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_patch_of_a_machine_os_config_is_refused() {
    const PATCH: &str =
        "- {op: replace, path: /spec/renderedImagePushSpec, value: 'registry.example.com/other/os:latest'}\n";
    let site = Site::new();
    site.release(VERSION, assisted_testkit::oci::OPENSHIFT_INSTALL).await;
    let generator = site.generator();
    // Patches are for files of one document.
    let parts: Vec<&'static str> = IMAGES.split("---\n").collect();
    let names = ["manifests/master.yaml", "manifests/worker.yaml", "manifests/secret.yaml"];
    assert_eq!(parts.len(), names.len());
    let mut shape = Shape { manifests: names.into_iter().zip(parts).collect(), ..image_mode() };
    let kept = |text: &str| json!([{"MachineOsConfig": serde_yaml_ng::from_str::<Value>(text).unwrap()}]);
    let manifests = json!({(names[0]): kept(shape.manifests[0].1), (names[1]): kept(shape.manifests[1].1)});
    merge(&mut shape.record, json!({"layering": {"manifests": manifests}}));
    // Without the patch nothing is wrong but the release's script, which has another shape.
    let told = shape.try_generate(&site, &*generator).await.unwrap_err().to_string();
    assert!(told.contains("bootkube.sh of release"), "{told}");
    let patched = shape.user("openshift/worker.yaml.patch", PATCH);
    let told = patched.try_generate(&site, &*generator).await.unwrap_err().to_string();
    assert!(told.contains("a patch changes the MachineOSConfig for pool worker"), "{told}");
}
