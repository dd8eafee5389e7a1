//! Times of records: what a calendar has, in UTC, and nothing else.

use trunkline_message_tree::{Message, Timestamp};
use trunkline_transcripts::{Format, Heading, export, read_as};

use crate::show::{main, session, transcript};

fn read(time: &str) -> Option<u64> {
    let file = session(&format!("u1 < - user \"hi\" & {{\"timestamp\":\"{time}\"}}"));
    main(&transcript(&file, Format::ClaudeCode)).started.map(|at| at.0)
}

#[test]
fn days_that_no_calendar_has_are_no_time() {
    assert_eq!(read("2026-02-11T20:36:45.693Z"), Some(1_770_842_205_693));
    assert_eq!(read("2024-02-29T00:00:00Z"), Some(1_709_164_800_000));
    for none in [
        "2026-02-31T00:00:00.000Z",
        "2026-02-29T00:00:00.000Z",
        "2026-04-31T00:00:00.000Z",
        "2026-13-01T00:00:00.000Z",
        "2026-02-11T24:00:00.000Z",
        "2026-02-11T20:36:45.693+01:00",
        "2026-02-11T20:36:45.693",
        "2026-02-11 20:36:45.693Z",
        "2026-02-11",
        "1969-12-31T23:59:59.000Z",
        "99999-02-11T20:36:45.693Z",
        "",
    ] {
        assert_eq!(read(none), None, "{none}");
    }
}

#[test]
fn a_time_is_printed_as_it_is_read() {
    for at in [0, 951_782_400_123, 1_770_842_205_693, 253_402_207_199_999] {
        let heading =
            Heading { id: "s".to_owned(), cwd: String::new(), title: String::new(), started: Timestamp(at) };
        let written = export(&[Message::user("hi")], Format::ClaudeCode, &heading);
        let again = read_as(&written.bytes, Format::ClaudeCode).expect("a session");
        assert_eq!(main(&again).started, Some(Timestamp(at)));
    }
    let heading = Heading {
        id: "s".to_owned(),
        cwd: String::new(),
        title: String::new(),
        started: Timestamp(u64::MAX),
    };
    let written = export(&[Message::user("hi")], Format::ClaudeCode, &heading);
    assert!(String::from_utf8_lossy(&written.bytes).contains("\"timestamp\":\"9999-12-30T22:00:00.999Z\""));
}

#[test]
fn each_record_of_a_new_file_is_later_than_the_one_before() {
    // Older clients take the latest record for the end, and of several the first.
    let lines = r#"
        u1 < - user "one" & {"timestamp":"2026-02-01T10:00:00.000Z"}
        a1 < u1 ai=m1 [{"type":"text","text":"two"}] & {"timestamp":"2026-02-01T10:00:00.000Z"}
        u2 < a1 user "three" & {"timestamp":"2026-01-01T10:00:00.000Z"}
        a2 < u2 ai=m2 [{"type":"text","text":"four"}] & {"timestamp":"2026-02-31T10:00:00.000Z"}
        u3 < a2 user "five" & {"timestamp":"2026-02-01T10:00:00.500Z"}
    "#;
    let transcript = transcript(&session(lines), Format::ClaudeCode);
    let mut messages = main(&transcript).messages;
    messages.push(Message::assistant("six"));
    messages.push(Message::user("seven"));
    let written = transcript.write(0, &messages, "s2").expect("it is there");
    let text = String::from_utf8(written.bytes).expect("text");
    let times: Vec<&str> =
        text.split("\"timestamp\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(
        times,
        [
            "2026-02-01T10:00:00.000Z",
            "2026-02-01T10:00:00.001Z",
            "2026-02-01T10:00:00.002Z",
            "2026-02-01T10:00:00.003Z",
            "2026-02-01T10:00:00.500Z",
            "2026-02-01T10:00:00.501Z",
            "2026-02-01T10:00:00.502Z",
        ]
    );
}
