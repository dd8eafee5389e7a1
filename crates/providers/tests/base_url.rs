//! Base URLs as people write them.

use trunkline_providers::BaseUrl;

fn join(base: &str, path: &str) -> String {
    match base.parse::<BaseUrl>() {
        Ok(base) => format!("{} at {}", base.join(path), base.host()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn addresses_are_joined_as_people_mean_them() {
    let path = "/v1/chat/completions";
    for (base, expected) in [
        ("http://localhost:11434", "http://localhost:11434/v1/chat/completions at localhost"),
        (" http://localhost:11434/v1/ ", "http://localhost:11434/v1/chat/completions at localhost"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions at openrouter.ai"),
        ("https://api.example/v1/chat/completions", "https://api.example/v1/chat/completions at api.example"),
        ("https://api.example/proxy", "https://api.example/proxy/v1/chat/completions at api.example"),
        ("https://g.example/v1beta/openai", "https://g.example/v1beta/openai/chat/completions at g.example"),
        ("http://[::1]:8080", "http://[::1]:8080/v1/chat/completions at [::1]"),
        ("http://v1:80", "http://v1:80/v1/chat/completions at v1"),
        ("http://me:pw@host", "http://me:pw@host/v1/chat/completions at host"),
    ] {
        assert_eq!(join(base, path), expected);
    }
}

#[test]
fn a_version_of_any_name_is_not_said_twice() {
    let path = "/v1beta/models/m:generateContent";
    for (base, expected) in [
        ("https://g.example", "https://g.example/v1beta/models/m:generateContent at g.example"),
        ("https://g.example/v1beta/", "https://g.example/v1beta/models/m:generateContent at g.example"),
        (
            "https://a.example/v1/projects/p/locations/global/publishers/google",
            "https://a.example/v1/projects/p/locations/global/publishers/google/models/m:generateContent at a.example",
        ),
    ] {
        assert_eq!(join(base, path), expected);
    }
}

#[test]
fn what_is_no_address_is_refused() {
    for base in [
        "",
        "localhost:8080",
        "ftp://x",
        "http://",
        "http:///v1",
        "http://a b",
        "http://x/?a=b",
        "http://:80",
    ] {
        let expected = format!("not a base URL: {base:?}; write it like http://localhost:8080/v1");
        assert_eq!(join(base, "/v1/messages"), expected);
    }
}

fn digest(base: &str) -> String {
    base.parse::<BaseUrl>().expect("an address").digest()
}

#[test]
fn all_that_mean_one_place_have_one_digest() {
    let same = [
        "https://api.example/proxy",
        "https://api.example/proxy/",
        "HTTPS://API.example/proxy/v1",
        "https://api.example:443/proxy/v1/chat/completions",
        "https://me:sk-secret@api.example/proxy/v1/responses",
    ];
    let digests: Vec<String> = same.map(digest).to_vec();
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
    assert_eq!(digests[0].len(), 16);
}

#[test]
fn places_that_differ_have_two() {
    let others = [
        "https://api.example",
        "http://api.example/proxy",
        "https://api.example:8443/proxy",
        "https://api.example/Proxy",
        "https://gateway.example/v1/team-a/openai",
        "https://gateway.example/v1/team-b/openai",
        "http://[::1]:8080",
        "http://[::2]:8080",
    ];
    let mut digests: Vec<String> = others.map(digest).to_vec();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), others.len());
}

#[test]
fn the_form_that_is_digested_does_not_change() {
    // It stands in logs: sha256("https://api.example/proxy").
    assert_eq!(digest("https://api.example/proxy/v1"), "b04d134a81296f8e");
}
