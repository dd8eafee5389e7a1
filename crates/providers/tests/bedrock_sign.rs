//! Signatures: those that AWS publishes with its test suite, and one that its Python client made.

use expect_test::{Expect, expect};
use trunkline_message_tree::{Message, Timestamp};
use trunkline_providers::{Bedrock, HttpRequest, Request, Secret, SigV4, Sign, Wire};

// 2015-08-30T12:36:00Z, the moment of the test suite.
const THEN: Timestamp = Timestamp(1_440_938_160_000);

fn signer() -> SigV4 {
    let secret = Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
    SigV4::new("us-east-1", "AKIDEXAMPLE", secret).for_service("service")
}

/// Signs a request written as its first line, its headers, and after an empty line its body.
fn sign(signer: &SigV4, text: &str) -> String {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines().map(str::trim);
    let (method, path) = lines.next().and_then(|line| line.split_once(' ')).expect("a method and a path");
    let mut request = HttpRequest::post_json(path, body.as_bytes().to_vec());
    request.method = if method == "GET" { "GET" } else { "POST" };
    request.headers = lines
        .map(|line| line.split_once(':').expect("a header"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let url = format!("https://example.amazonaws.com{path}");
    match signer.sign(&request, &url, THEN) {
        Ok(headers) => {
            let (_, authorization) =
                headers.iter().find(|(name, _)| name == "authorization").expect("it is added");
            let (_, signed) = authorization.split_once("SignedHeaders=").expect("it says what was signed");
            signed.replace(", Signature=", " ")
        }
        Err(error) => error.to_string(),
    }
}

fn check(text: &str, signed: &str) {
    assert_eq!(sign(&signer(), text), signed, "{text}");
}

#[test]
fn published_signatures_come_out() {
    // get-header-key-duplicate
    check(
        "GET /\nMy-Header1:value2\nMy-Header1:value2\nMy-Header1:value1",
        "host;my-header1;x-amz-date c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
    );
    // get-header-value-order
    check(
        "GET /\nMy-Header1:value4\nMy-Header1:value1\nMy-Header1:value3\nMy-Header1:value2",
        "host;my-header1;x-amz-date 08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01",
    );
    // get-header-value-trim
    check(
        "GET /\nMy-Header1: value1\nMy-Header2: \"a   b   c\"",
        "host;my-header1;my-header2;x-amz-date acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
    );
    // get-relative-normalized
    check(
        "GET /example/..",
        "host;x-amz-date 5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    );
    // get-relative-relative-normalized
    check(
        "GET /example1/example2/../..",
        "host;x-amz-date 5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    );
    // get-slash-dot-slash-normalized
    check("GET /./", "host;x-amz-date 5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    // get-slash-normalized
    check("GET //", "host;x-amz-date 5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    // get-slash-pointless-dot-normalized
    check(
        "GET /./example",
        "host;x-amz-date ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5",
    );
    // get-slashes-normalized
    check(
        "GET //example//",
        "host;x-amz-date 9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84",
    );
    // get-space-normalized
    check(
        "GET /example space/",
        "host;x-amz-date 652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741",
    );
    // get-unreserved
    check(
        "GET /-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "host;x-amz-date 07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
    );
    // get-utf8
    check("GET /ሴ", "host;x-amz-date 8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
    // get-vanilla
    check("GET /", "host;x-amz-date 5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    // get-vanilla-empty-query-key
    check(
        "GET /?Param1=value1",
        "host;x-amz-date a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
    );
    // get-vanilla-query
    check("GET /", "host;x-amz-date 5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    // get-vanilla-query-order-encoded
    check(
        "GET /?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
        "host;x-amz-date 371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac",
    );
    // get-vanilla-query-order-key-case
    check(
        "GET /?Param2=value2&Param1=value1",
        "host;x-amz-date b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    );
    // get-vanilla-query-unreserved
    check(
        "GET /?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "host;x-amz-date 9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
    );
    // get-vanilla-utf8-query
    check("GET /?ሴ=bar", "host;x-amz-date 2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04");
    // post-header-key-case
    check("POST /", "host;x-amz-date 5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
    // post-header-key-sort
    check(
        "POST /\nMy-Header1:value1",
        "host;my-header1;x-amz-date c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
    );
    // post-header-value-case
    check(
        "POST /\nMy-Header1:VALUE1",
        "host;my-header1;x-amz-date cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
    );
    // post-vanilla
    check("POST /", "host;x-amz-date 5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
    // post-vanilla-empty-query-value
    check(
        "POST /?Param1=value1",
        "host;x-amz-date 28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
    );
    // post-vanilla-query
    check(
        "POST /?Param1=value1",
        "host;x-amz-date 28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
    );
}

#[test]
fn a_session_token_is_signed_and_sent() {
    let token = concat!(
        "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7m",
        "SEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+x",
        "o0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==",
    );
    let signer = signer().with_session_token(Secret::new(token));
    assert_eq!(
        sign(&signer, "POST /"),
        "host;x-amz-date;x-amz-security-token 85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"
    );
    let headers =
        signer.sign(&HttpRequest::post_json("/", Vec::new()), "https://a.example", THEN).expect("legal");
    assert_eq!(headers.last(), Some(&("x-amz-security-token".to_owned(), token.to_owned())));
    // What was there before is not signed twice.
    assert_eq!(
        sign(&signer, "POST /\nX-Amz-Security-Token:old\nX-Amz-Date:old\nAuthorization:old"),
        sign(&signer, "POST /")
    );
}

#[test]
fn a_request_to_converse_has_the_signature_of_the_official_client() {
    let mut request =
        Request::new("eu.anthropic.claude-haiku-4-5-20251001-v1:0", vec![Message::user("grüße")]);
    request.max_output_tokens = Some(64);
    let http = Bedrock::new().encode(&request).expect("legal");
    let url = format!("https://bedrock-runtime.eu-central-1.amazonaws.com{}", http.path);
    let signer =
        SigV4::new("eu-central-1", "AKIDEXAMPLE", Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"));
    let signed = |url: &str| format!("{:#?}", signer.sign(&http, url, Timestamp(1_792_000_000_999)));
    expect![[r#"
        Ok(
            [
                (
                    "x-amz-date",
                    "20261014T174640Z",
                ),
                (
                    "authorization",
                    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261014/eu-central-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=1b72135a18a5781aa03eba2cac4be3a2c91b0462b3f8087c8748e7be976d21d4",
                ),
            ],
        )"#]].assert_eq(&signed(&url));
    // The usual port is not said, another one is.
    assert_eq!(signed(&url.replace(".com", ".COM:443")), signed(&url));
    assert_ne!(signed(&url.replace(".com", ".com:8443")), signed(&url));
}

#[test]
fn what_cannot_be_signed_is_named() {
    let request = HttpRequest::post_json("/", Vec::new());
    let check = |signer: &SigV4, request: &HttpRequest, url: &str, at: u64, expected: Expect| {
        let error = signer.sign(request, url, Timestamp(at)).expect_err("it cannot be signed");
        expected.assert_eq(&error.to_string());
    };
    let url = "https://a.example";
    check(
        &signer(),
        &request,
        "a.example/x",
        0,
        expect![[
            r#"not an address that can be signed for: "a.example/x"; it must begin with http:// or https:// and name a host"#
        ]],
    );
    check(
        &signer(),
        &request,
        "ftp://a.example",
        0,
        expect![[
            r#"not an address that can be signed for: "ftp://a.example"; it must begin with http:// or https:// and name a host"#
        ]],
    );
    check(
        &signer(),
        &request,
        "https:///x",
        0,
        expect![[
            r#"not an address that can be signed for: "https:///x"; it must begin with http:// or https:// and name a host"#
        ]],
    );
    check(
        &signer(),
        &request,
        url,
        u64::MAX,
        expect!["18446744073709551615 ms is no time that can be signed"],
    );
    check(
        &SigV4::new("", "a", Secret::new("b")),
        &request,
        url,
        0,
        expect!["the region of the credentials is empty or has characters that no header can hold"],
    );
    check(
        &SigV4::new("r", "a\nb", Secret::new("b")),
        &request,
        url,
        0,
        expect!["the access key id of the credentials is empty or has characters that no header can hold"],
    );
    check(
        &SigV4::new("r", "a", Secret::new("")),
        &request,
        url,
        0,
        expect![
            "the secret access key of the credentials is empty or has characters that no header can hold"
        ],
    );
    check(
        &signer(),
        &request.with_header("x", "a\nb"),
        url,
        0,
        expect!["header x cannot be signed: its value has control characters"],
    );
}

#[test]
fn the_secret_half_is_never_shown() {
    let shown = format!("{:?}", signer().with_session_token(Secret::new("token")));
    assert!(!shown.contains("wJalr") && !shown.contains("token\""), "{shown}");
}

#[test]
fn times_are_written_as_the_calendar_has_them() {
    let at = |seconds: u64| {
        let request = HttpRequest::post_json("/", Vec::new());
        let headers = signer().sign(&request, "https://a.example", Timestamp(seconds * 1000)).expect("legal");
        headers.into_iter().find(|(name, _)| name == "x-amz-date").map(|(_, time)| time).unwrap_or_default()
    };
    assert_eq!(at(0), "19700101T000000Z");
    assert_eq!(at(951_782_399), "20000228T235959Z");
    assert_eq!(at(951_782_400), "20000229T000000Z");
    assert_eq!(at(951_868_800), "20000301T000000Z");
    assert_eq!(at(4_107_542_399), "21000228T235959Z");
    assert_eq!(at(4_107_542_400), "21000301T000000Z");
    assert_eq!(at(253_402_300_799), "99991231T235959Z");
}
