//! Real contests, whole: imported by the command, verified by the command, on both stores.

mod variants;

use std::process::Output;

use crate::common::server::{Home, TestServer, data};

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

async fn every_pack_with_expected_results_matches(home: Home) {
    let Some(data) = data() else { return };
    let server = TestServer::start(home).await;
    for pack in [
        "regional-352",
        "regional-800",
        "seconds-887",
        "sum-324",
        "points-446",
        "online-2554",
    ] {
        let folder = data.join(pack);
        let import = [
            "import",
            folder.to_str().unwrap(),
            "--contest",
            pack,
            "--speed",
            "max",
        ];
        let imported = server.command(&import);
        assert!(imported.status.success(), "{}", text(&imported));
        println!("{}", text(&imported).trim());
        let expected = folder.join("expected.tsv");
        let verify = [
            "verify",
            "--contest",
            pack,
            "--expected",
            expected.to_str().unwrap(),
        ];
        let verified = server.command(&verify);
        println!("{}", text(&verified).trim());
        assert!(verified.status.success(), "{}", text(&verified));

        // The same once more changes nothing, and is said to be a repeat.
        if pack == "sum-324" {
            let again = text(&server.command(&import));
            assert!(again.contains(" 0 accepted"), "{again}");
            // And a wrong expectation is noticed.
            let wrong = tempfile::NamedTempFile::new().unwrap();
            let lines = std::fs::read_to_string(&expected).unwrap();
            std::fs::write(wrong.path(), lines.replacen("75420", "75421", 1)).unwrap();
            let verify = [
                "verify",
                "--contest",
                pack,
                "--expected",
                wrong.path().to_str().unwrap(),
            ];
            let verified = server.command(&verify);
            assert_eq!(verified.status.code(), Some(1));
            assert!(
                text(&verified).contains("323 of 324 teams match"),
                "{}",
                text(&verified)
            );
            assert!(
                text(&verified).contains("penalty_seconds is 75420, expected 75421"),
                "{}",
                text(&verified)
            );
        }
    }
}

async fn feeds_of_other_kinds_load_whole(home: Home) {
    let Some(data) = data() else { return };
    let server = TestServer::start(home).await;
    for (pack, aside) in [
        ("clics-deletes", None),
        ("clics-thawed-53", None),
        ("clics-old-format", Some("5 kept aside")),
    ] {
        let folder = data.join(pack);
        let imported = server.command(&["import", folder.to_str().unwrap(), "--contest", pack]);
        let said = text(&imported);
        assert!(
            imported.status.success() && said.contains(" 0 refused"),
            "{said}"
        );
        assert_eq!(
            aside.is_some_and(|aside| said.contains(aside)),
            aside.is_some(),
            "{said}"
        );
        let verified = server.command(&["verify", "--contest", pack]);
        assert!(verified.status.success(), "{}", text(&verified));
    }
}

both! {
    every_pack_with_expected_results_matches
    feeds_of_other_kinds_load_whole
}
