//! Routes, errors, credentials, and the order in which the API service is asked.

use assisted_isokit::ignition::Contents;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;

use crate::api::{CONFIG, ID, MODIFIED, Reply};
use crate::client::{Answer, ask, client, get};
use crate::iso::{AREA_SIZE, Iso};
use crate::server::Server;

fn token() -> String {
    signed("sig")
}

/// One with another signature is another credential.
fn signed(signature: &str) -> String {
    let claims = URL_SAFE_NO_PAD.encode(format!(r#"{{"sub":"{ID}"}}"#));
    format!("e30.{claims}.{signature}")
}

fn short(file: &str) -> String {
    format!("/byid/{ID}/4.18/x86_64/{file}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_image_is_its_base_with_the_config_in_it() {
    let server = Server::start().await;
    let iso = Iso::x86_64();
    server.api.kargs(
        r#""[{\"operation\":\"append\",\"value\":\"p1\"},{\"operation\":\"append\",\"value\":\"p2=3\"}]""#,
    );
    let answer = get(&server, &short("full.iso"), &[]).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body.len(), iso.bytes.len());
    assert_eq!(answer.header("content-length"), iso.bytes.len().to_string());
    assert_eq!(answer.header("last-modified"), MODIFIED);
    assert_eq!(answer.header("content-disposition"), format!("attachment; filename={ID}-discovery.iso"));
    assert_eq!(answer.header("accept-ranges"), "bytes");
    assert_eq!(answer.header("content-type"), "application/octet-stream");
    let area = iso.area()..iso.area() + AREA_SIZE;
    let contents = Contents::read(&answer.body[area.clone()]).unwrap();
    assert_eq!(contents.config.as_deref(), Some(CONFIG.as_bytes()));
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(text.matches("ignition.platform.id=metal p1 p2=3\n#").count(), 2);
    // Nothing else differs.
    let differs = |at: usize| answer.body[at] != iso.bytes[at] && !area.contains(&at);
    let outside: Vec<usize> = (0..iso.bytes.len()).filter(|at| differs(*at)).collect();
    assert!(outside.len() <= 2 * " p1 p2=3\n".len(), "{}", outside.len());
    assert_eq!(server.api.steps(), ["ignition", "infra-env"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minimal_image_has_the_ramdisk_and_fetches_the_rest() {
    let server = Server::start().await;
    server.api.reply("ramdisk", Reply::new(200, "the ramdisk"));
    let answer = get(&server, &short("minimal.iso"), &[]).await;
    assert_eq!(answer.status, 200);
    let asked = server.api.take_requests();
    assert_eq!(
        asked.iter().map(|asked| asked.what).collect::<Vec<_>>(),
        ["ignition", "ramdisk", "infra-env"]
    );
    assert_eq!(asked[0].path, format!("/api/assisted-install/v2/infra-envs/{ID}/downloads/files"));
    let mut query: Vec<_> = asked[0].query.split('&').collect();
    query.sort_unstable();
    assert_eq!(query, ["discovery_iso_type=minimal-iso", "file_name=discovery.ign"]);
    assert_eq!(asked[1].path, format!("/api/assisted-install/v2/infra-envs/{ID}/downloads/minimal-initrd"));
    assert_eq!(asked[2].path, format!("/api/assisted-install/v2/infra-envs/{ID}"));
    assert!(answer.body.len() < Iso::x86_64().bytes.len() - (4 << 20));
    let text = String::from_utf8_lossy(&answer.body);
    assert!(text.contains("the ramdisk\0"));
    let url = r#"coreos.live.rootfs_url="https://images.example.com:8080/path/boot-artifacts/rootfs?arch=x86_64&version=418.94""#;
    assert_eq!(text.matches(url).count(), 2);
    // Without a ramdisk it is as long.
    server.api.reply("ramdisk", Reply::new(204, ""));
    let key = format!("{}?api_key=other", short("minimal.iso"));
    let without = get(&server, &key, &[]).await;
    assert_eq!((without.status, without.body.len()), (200, answer.body.len()));
    assert!(!String::from_utf8_lossy(&without.body).contains("the ramdisk"));
    assert_ne!(without.header("etag"), answer.header("etag"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ipxe_loads_is_one_file() {
    let server = Server::start().await;
    let iso = Iso::x86_64();
    let path = format!("/images/{ID}/pxe-initrd?version=418.94");
    let answer = get(&server, &path, &[]).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-disposition"), format!("attachment; filename={ID}-initrd.img"));
    assert!(answer.body.starts_with(&iso.initrd));
    let archive = &answer.body[iso.initrd.len()..];
    assert_eq!(archive.len() % 4, 0);
    assert_eq!(Contents::read(archive).unwrap().config.as_deref(), Some(CONFIG.as_bytes()));
    let asked = server.api.take_requests();
    assert_eq!(asked.iter().map(|asked| asked.what).collect::<Vec<_>>(), ["ignition", "ramdisk"]);
    assert_eq!(asked[0].query, "file_name=discovery.ign");

    server.api.reply("ramdisk", Reply::new(200, "odd"));
    let with = get(&server, &format!("{path}&api_key=k"), &[]).await;
    assert_eq!(with.body, [answer.body.as_slice(), b"odd"].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn s390x_has_pieces_of_its_own() {
    let server = Server::start().await;
    let iso = Iso::s390x();
    let initrd = get(&server, &format!("/images/{ID}/pxe-initrd?version=4.18&arch=s390x"), &[]).await;
    let size = get(&server, &format!("/images/{ID}/s390x-initrd-addrsize?version=4.18"), &[]).await;
    assert_eq!(size.status, 200);
    assert_eq!(size.header("content-disposition"), format!("attachment; filename={ID}-initrd.addrsize"));
    let expected = [&[0, 0, 0, 0, 2, 0, 0, 0], (initrd.body.len() as u64).to_be_bytes().as_slice()].concat();
    assert_eq!(size.body, expected);
    let full = get(&server, &format!("/byid/{ID}/4.18/s390x/full.iso"), &[]).await;
    assert_eq!(full.status, 200);
    let area = &full.body[iso.area()..iso.area() + AREA_SIZE];
    assert_eq!(Contents::read(area).unwrap().config.as_deref(), Some(CONFIG.as_bytes()));
    let artifact = |name: &str| format!("/boot-artifacts/{name}?version=4.18&arch=s390x");
    assert_eq!(get(&server, &artifact("kernel"), &[]).await.body, iso.kernel);
    let ins = get(&server, &artifact("ins-file"), &[]).await;
    assert_eq!((ins.status, ins.header("content-disposition")), (200, "attachment; filename=generic.ins"));
    let minimal = get(&server, &format!("/byid/{ID}/4.18/s390x/minimal.iso"), &[]).await;
    assert_eq!((minimal.status, minimal.body.len()), (500, 0));

    // An empty list is one, too.
    server.api.kargs(r#""[]""#);
    for path in [
        format!("/byid/{ID}/4.18/s390x/full.iso?api_key=k"),
        format!("/images/{ID}?version=4.18&type=full-iso&arch=s390x&api_key=k"),
    ] {
        let refused = get(&server, &path, &[]).await;
        assert_eq!(refused.status, 400);
        assert_eq!(refused.text(), "kargs cannot be modified in s390x architecture ISOs\n");
        assert_eq!(refused.header("x-content-type-options"), "nosniff");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn boot_artifacts_are_parts_of_the_base_for_everybody() {
    let server = Server::start().await;
    let iso = Iso::x86_64();
    let path = |name: &str, query: &str| format!("/boot-artifacts/{name}{query}");
    for (name, file, content) in [("kernel", "vmlinuz", &iso.kernel), ("rootfs", "rootfs.img", &iso.rootfs)] {
        let answer = get(&server, &path(name, "?version=4.18"), &[]).await;
        assert_eq!((answer.status, &answer.body == content), (200, true));
        assert_eq!(answer.header("content-disposition"), format!("attachment; filename={file}"));
        let head = ask(&client(), Method::HEAD, &server.url(&path(name, "?version=4.18")), &[]).await;
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(head.header("content-length"), content.len().to_string());
        let part = get(&server, &path(name, "?version=4.18"), &[("range", "bytes=5-9")]).await;
        assert_eq!((part.status, part.body.as_slice()), (206, &content[5..10]));
    }
    let post = ask(&client(), Method::POST, &server.url(&path("kernel", "?version=4.18")), &[]).await;
    assert_eq!(post.status, 405);
    for (path, status, text) in [
        (path("kernel", ""), 400, "Failed to parse query parameters: 'version' parameter required\n"),
        (path("nonsense", ""), 400, "Failed to parse query parameters: 'version' parameter required\n"),
        (
            path("kernel", "?version=4.2"),
            400,
            "Failed to parse query parameters: version for 4.2 x86_64, not found\n",
        ),
        (
            path("nonsense", "?version=4.18"),
            404,
            "Failed to parse artifact: malformed download path: /boot-artifacts/nonsense\n",
        ),
        (
            path("ins-file", "?version=4.18"),
            404,
            "Failed to parse artifact: ins-file is only available for the s390x architecture. Current arch: x86_64\n",
        ),
    ] {
        let answer = get(&server, &path, &[]).await;
        assert_eq!((answer.status, answer.text().as_str()), (status, text));
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
    assert!(server.api.take_requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_wrongly_is_told() {
    let server = Server::start().await;
    let token = token();
    let none = format!("/bytoken/e30.{}.c2ln/4.18/x86_64/full.iso", URL_SAFE_NO_PAD.encode("{}"));
    let long = |query: &str| format!("/images/{ID}{query}");
    let not_found = "404 page not found\n";
    for (path, status, text) in [
        (long(""), 400, "'version' parameter required"),
        (long("?version=4.18"), 400, "'type' parameter required"),
        (long("?version=4.18&type=iso"), 400, "invalid value 'iso' for parameter 'type'"),
        (long("?version=4.2&type=full-iso"), 404, not_found),
        (long("?version=4.18&type=full-iso&arch=mips"), 404, not_found),
        (short("other.iso"), 404, "unrecognized file name other.iso"),
        (format!("/bytoken/{token}/4.2/x86_64/full.iso"), 404, not_found),
        ("/bytoken/nonsense/4.18/x86_64/full.iso".to_owned(), 404, "failed to parse JWT from URL"),
        ("/byapikey/a.b.c/4.18/x86_64/full.iso".to_owned(), 404, "failed to parse JWT from URL"),
        (none, 404, "InfraEnv ID not found in token"),
        (format!("/byid/{ID}/4.18/x86_64/"), 404, not_found),
        (format!("/byid/_{ID}/4.18/x86_64/full.iso"), 404, not_found),
        ("/byid/".to_owned(), 404, not_found),
        ("/images/".to_owned(), 404, not_found),
        ("/s390x-initrd-addrsize".to_owned(), 404, not_found),
        (format!("/images/{}", ID.to_uppercase()), 404, not_found),
        (format!("/images/{ID}/pxe-initrd"), 400, "'version' parameter required for initrd download\n"),
        (
            format!("/images/{ID}/s390x-initrd-addrsize"),
            400,
            "'version' parameter required for initrd download\n",
        ),
        (format!("/images/{ID}/pxe-initrd?version=4.2"), 400, "version for 4.2 x86_64, not found \n"),
        (
            format!("/images/{ID}/s390x-initrd-addrsize?version=4.2"),
            400,
            "version for 4.2 s390x, not found \n",
        ),
    ] {
        let answer = get(&server, &path, &[]).await;
        assert_eq!((answer.status, answer.text().as_str()), (status, text), "{path}");
        let sniff = if text.ends_with('\n') { "nosniff" } else { "" };
        assert_eq!(answer.header("x-content-type-options"), sniff, "{path}");
    }
    assert!(server.api.take_requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_api_service_refuses_is_passed_on() {
    let server = Server::start().await;
    let good = |what| match what {
        "ramdisk" => Reply::new(204, ""),
        "infra-env" => Reply::new(200, "{}"),
        _ => Reply::new(200, CONFIG),
    };
    let initrd = format!("/images/{ID}/pxe-initrd?version=4.18");
    for (what, reply, path, status, text, steps) in [
        ("ignition", Reply::new(401, "no"), short("full.iso"), 401, "", 1),
        ("ignition", Reply::new(404, "no"), short("full.iso"), 404, "", 1),
        (
            "ignition",
            Reply::new(503, r#"{"reason":"no address"}"#),
            short("full.iso"),
            503,
            "no address\n",
            1,
        ),
        ("ignition", Reply::new(401, r#"{"message":"who?"}"#), short("full.iso"), 401, "who?\n", 1),
        ("ignition", Reply::new(503, r#"{"reason":""}"#), short("full.iso"), 503, "", 1),
        ("ignition", Reply::new(204, ""), short("full.iso"), 500, "", 1),
        ("ramdisk", Reply::new(503, "no"), short("minimal.iso"), 503, "", 2),
        ("infra-env", Reply::new(403, "no"), short("full.iso"), 403, "", 2),
        ("infra-env", Reply::new(200, "no JSON"), short("full.iso"), 500, "", 2),
        ("infra-env", Reply::new(200, r#"{"kernel_arguments":""}"#), short("full.iso"), 500, "", 2),
        ("infra-env", Reply::new(200, r#"{"kernel_arguments":[]}"#), short("full.iso"), 500, "", 2),
        (
            "ignition",
            Reply::new(401, "no"),
            initrd.clone(),
            401,
            "error retrieving ignition content: the API service answered 401 Unauthorized\n",
            1,
        ),
        (
            "ramdisk",
            Reply::new(503, "no"),
            initrd.clone(),
            503,
            "error retrieving ramdisk content: the API service answered 503 Service Unavailable\n",
            2,
        ),
    ] {
        for other in ["ignition", "ramdisk", "infra-env"] {
            server.api.reply(other, if other == what { reply.clone() } else { good(other) });
        }
        let answer = get(&server, &path, &[]).await;
        assert_eq!((answer.status, answer.text().as_str()), (status, text), "{what} {path}");
        assert_eq!(server.api.steps().len(), steps, "{what} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_an_error_without_a_text() {
    let server = Server::start().await;
    // Nothing in it can be packed.
    server.api.reply("ignition", Reply::new(200, crate::iso::noise(7, 300_000)));
    assert_eq!(get(&server, &short("full.iso"), &[]).await.status, 500);
    // iPXE has no such limit.
    let initrd = format!("/images/{ID}/pxe-initrd?version=4.18");
    assert_eq!(get(&server, &initrd, &[]).await.status, 200);
    server.api.reply("ignition", Reply::new(200, CONFIG));
    server.api.reply("ramdisk", Reply::new(200, crate::iso::noise(8, (1 << 20) + 1)));
    let answer = get(&server, &short("minimal.iso"), &[]).await;
    assert_eq!((answer.status, answer.body.len()), (500, 0));
    server.api.reply("ramdisk", Reply::new(204, ""));
    let long = format!(r#""[{{\"operation\":\"append\",\"value\":\"{}\"}}]""#, "a".repeat(2000));
    server.api.kargs(&long);
    assert_eq!(get(&server, &format!("{}?api_key=k", short("full.iso")), &[]).await.status, 500);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_credential_is_handed_on() {
    let server = Server::start().await;
    let (token, other) = (token(), signed("other"));
    let bearer = [("authorization", "Bearer user")];
    let by = |kind: &str, token: &str, query: &str| format!("/{kind}/{token}/4.18/x86_64/full.iso{query}");
    let long = |query: &str| format!("/images/{ID}?version=4.18&type=full-iso{query}");
    for (path, headers, expected) in [
        (long(""), [].as_slice(), ("", "", "")),
        (long(""), &bearer, ("", "", "Bearer user")),
        (long("&image_token=it"), &bearer, ("", "it", "")),
        (long("&image_token=it&api_key=key"), &bearer, ("key", "", "")),
        (by("bytoken", &token, ""), &bearer, ("", &token, "")),
        (by("bytoken", &other, "?image_token=it"), &[], ("", &other, "")),
        (by("bytoken", &token, "?api_key=key2"), &[], ("key2", "", "")),
        (by("byapikey", &token, "?api_key=key3&image_token=it"), &bearer, (&token, "", "")),
    ] {
        assert_eq!(get(&server, &path, headers).await.status, 200, "{path}");
        let asked = server.api.take_requests();
        assert_eq!(asked.len(), 2, "{path}");
        for asked in asked {
            let key = asked.query.split('&').find_map(|pair| pair.strip_prefix("api_key="));
            let header = |name: &str| asked.headers.get(name).map(|value| value.to_str().unwrap());
            let found = (
                key.unwrap_or_default(),
                header("image-token").unwrap_or_default(),
                header("authorization").unwrap_or_default(),
            );
            assert_eq!(found, expected, "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_credential_is_not_asked_about_again_but_any_other_is() {
    let server = Server::start().await;
    let path = |query: &str| format!("{}?{query}", short("full.iso"));
    let first = get(&server, &path("api_key=good"), &[]).await;
    assert_eq!((first.status, server.api.steps().len()), (200, 2));
    // Whatever the API service would say now.
    server.api.reply("ignition", Reply::new(401, ""));
    for _ in 0..3 {
        let again = get(&server, &path("api_key=good"), &[("range", "bytes=0-9")]).await;
        assert_eq!((again.status, again.header("etag")), (206, first.header("etag")));
    }
    assert!(server.api.take_requests().is_empty());
    for other in ["", "api_key=bad", "image_token=good"] {
        assert_eq!(get(&server, &path(other), &[]).await.status, 401);
        assert_eq!(server.api.steps(), ["ignition"]);
    }
    // Another type of image is another question.
    assert_eq!(get(&server, &format!("{}?api_key=good", short("minimal.iso")), &[]).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_ask_once() {
    let server = Server::start().await;
    let path = short("full.iso");
    let asks = (0..8).map(|_| get(&server, &path, &[("range", "bytes=0-0")]));
    for answer in futures::future::join_all(asks).await {
        assert_eq!(answer.status, 206);
    }
    assert_eq!(server.api.steps(), ["ignition", "infra-env"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_for_a_time_still_gives_one() {
    let server = Server::start().await;
    let mut reply = Reply::new(200, CONFIG);
    reply.modified = Some("yesterday".to_owned());
    server.api.reply("ignition", reply);
    let answer = get(&server, &short("full.iso"), &[("range", "bytes=0-0")]).await;
    let modified = answer.header("last-modified");
    assert!(httpdate::parse_http_date(modified).is_ok(), "{modified}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disconnected_image_is_a_base_of_its_own() {
    let server = Server::start().await;
    let answer = get(&server, &format!("/byid/{ID}/4.19/x86_64/disconnected.iso"), &[]).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-disposition"), "attachment; filename=agent-ove.x86_64.iso");
    assert!(server.api.take_requests()[0].query.contains("discovery_iso_type=disconnected-iso"));
    // None of the other type is in the list.
    for path in ["4.19/x86_64/full.iso", "4.19/x86_64/minimal.iso", "4.18/x86_64/disconnected.iso"] {
        let answer = get(&server, &format!("/byid/{ID}/{path}"), &[]).await;
        assert_eq!((answer.status, answer.body.len()), (500, 0), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn web_pages_of_listed_origins_may_read() {
    let server = Server::start().await;
    let allowed = |answer: &Answer| answer.header("access-control-allow-origin").to_owned();
    let path = "/boot-artifacts/kernel?version=4.18";
    for (origin, expected) in [
        ("https://ui.example.com", "https://ui.example.com"),
        ("https://x.example.org", "https://x.example.org"),
        ("https://other.example.com", ""),
    ] {
        let answer = get(&server, path, &[("origin", origin)]).await;
        assert_eq!((answer.status, allowed(&answer).as_str()), (200, expected));
        let answer = get(&server, &short("full.iso"), &[("origin", origin), ("range", "bytes=0-0")]).await;
        assert_eq!((answer.status, allowed(&answer).as_str()), (206, expected));
        let asks = [("origin", origin), ("access-control-request-method", "GET")];
        let before = ask(&client(), Method::OPTIONS, &server.url(&short("full.iso")), &asks).await;
        assert_eq!((before.status, allowed(&before).as_str()), (204, expected));
        let age = if expected.is_empty() { "" } else { "600" };
        assert_eq!(before.header("access-control-max-age"), age);
    }
    assert_eq!(allowed(&get(&server, path, &[]).await), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_measured_without_their_tokens() {
    let server = Server::start().await;
    let token = token();
    get(&server, &format!("/byapikey/{token}/4.18/x86_64/full.iso"), &[]).await;
    get(&server, "/boot-artifacts/rootfs?version=4.18", &[]).await;
    get(&server, &format!("/boot-artifacts/{token}?version=4.18"), &[]).await;
    // Measured when its last byte has been sent, which its reader may know first.
    let line = r#"http_response_size_bytes_sum{code="200",handler="/boot-artifacts/rootfs",method="GET",service=""}"#;
    let metrics = server.until("/metrics", |answer| answer.text().contains(line)).await.text();
    assert!(metrics.contains(r#"handler="/byapikey/:token""#), "{metrics}");
    assert!(!metrics.contains(&token));
    let size = metrics.lines().find_map(|text| text.split_once(line)).unwrap().1;
    assert!(size.trim().parse::<f64>().unwrap() > Iso::x86_64().rootfs.len() as f64);
    assert!(metrics.contains(r#"assisted_image_service_base_image_ready{image="418.94-x86_64"} 1"#));
    assert_eq!(get(&server, "/live", &[]).await.status, 200);
}
