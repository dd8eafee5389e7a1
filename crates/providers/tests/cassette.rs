//! Cassettes: text in, text out, and what must never be in them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::expect;
use proptest::prelude::*;
use trunkline_message_tree::{Message, Origin};
use trunkline_providers::{
    Anthropic, Cassette, Ending, Exchange, HttpRequest, Memo, Recording, Request, Secret, Waiting, Wire,
};

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn request() -> HttpRequest {
    HttpRequest::post_json("/v1/messages", b"{\"model\":\"m\"}".to_vec())
}

/// What was recorded while `happens` went on.
fn recorded(key: Option<&str>, happens: impl FnOnce(Recording)) -> Vec<Exchange> {
    let tape = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&tape);
    let record = move |exchange: &Exchange| to.lock().expect("not poisoned").push(exchange.clone());
    let key = key.map(Secret::new);
    happens(Recording::begin(Arc::new(record), "anthropic", &request(), key.as_ref()));
    Arc::into_inner(tape).expect("the recording is over").into_inner().expect("not poisoned")
}

#[test]
fn a_cassette_says_who_was_asked_if_its_recorder_did() {
    let origin = Origin::new("anthropic", "m");
    let mut cassette = Cassette::default();
    cassette.exchanges = recorded(None, |recording| drop(recording.of(&origin)));
    let line = cassette.print();
    assert!(line.contains(r#""wire":"anthropic","origin":{"provider":"anthropic","model":"m"},"#), "{line}");
    assert_eq!(Cassette::parse(&line), Ok(cassette));
}

#[test]
fn an_exchange_is_a_line() {
    let mut exchanges = recorded(None, |mut recording| {
        recording.answered(
            200,
            [
                ("Content-Type", "text/event-stream"),
                ("set-cookie", "session=1"),
                ("x-api-key", "k"),
                ("request-id", "req_1"),
                ("anthropic-organization-id", "org"),
            ],
        );
        recording.received(millis(120), "data: gr\n".as_bytes().to_vec());
        recording.received(millis(130), vec![0xc3]);
        recording.received(millis(131), vec![]);
        recording.end(millis(150), Ending::Cut, None);
    });
    exchanges.extend(recorded(None, |recording| {
        let cause = "connection refused".to_owned();
        recording.end(millis(3), Ending::Unreached { cause }, Some(millis(500)));
    }));
    exchanges.extend(recorded(None, |recording| {
        let after = Duration::from_micros(60_000_900);
        recording.end(after, Ending::TimedOut { waiting: Waiting::Response, after }, None);
    }));
    let mut cassette = Cassette::default();
    cassette.exchanges = exchanges;
    expect![[r#"
        {"trunkline_cassette":1}
        {"wire":"anthropic","method":"POST","path":"/v1/messages","digest":"b1853603fbce71c52d6e863860519e75bb71904ceda289cc29935fc41e97bfc4","status":200,"headers":[["content-type","text/event-stream"],["request-id","req_1"]],"body":[[120,"data: gr\n"],[130,{"base64":"ww=="}]],"ending":"cut","ended":150}
        {"wire":"anthropic","method":"POST","path":"/v1/messages","digest":"b1853603fbce71c52d6e863860519e75bb71904ceda289cc29935fc41e97bfc4","ending":{"unreached":{"cause":"connection refused"}},"ended":3,"retried":500}
        {"wire":"anthropic","method":"POST","path":"/v1/messages","digest":"b1853603fbce71c52d6e863860519e75bb71904ceda289cc29935fc41e97bfc4","ending":{"timed_out":{"waiting":"response","after":60000}},"ended":60000}
    "#]].assert_eq(&cassette.print());
    assert_eq!(Cassette::parse(&cassette.print()), Ok(cassette));
}

#[test]
fn what_is_wrong_with_a_cassette_is_said_with_its_line() {
    let line = recorded(None, |recording| recording.end(millis(1), Ending::Cut, None))[0].line();
    let fault = |text: &str| match Cassette::parse(text) {
        Ok(cassette) => format!("{} exchanges, torn: {}\n", cassette.exchanges.len(), cassette.torn),
        Err(fault) => format!("{fault}\n"),
    };
    let head = Cassette::head();
    let all = [
        fault(""),
        fault("{\"id\":1}\n"),
        fault(&line),
        fault("{\"trunkline_cassette\":2}\n{\"new\":1}\n"),
        fault(&head),
        fault(head.trim()),
        fault(&format!("\u{feff}{head}{line}\r\n\n{line}")),
        fault(&format!("{head}{}", line.trim())),
        fault(&format!("{head}{line}{}", &line[..40])),
        fault(&format!("{head}{}\n{line}", &line[..40])),
        fault(&format!("{head}{line}{{}}\n")),
        fault(&format!("{head}{}", line.replace("\"cut\"", "\"torn\""))),
        fault(&format!("{head}{}", line.replace("\"wire\"", "\"wires\""))),
        fault(&format!("{head}{}", line.replace("\"digest\":\"", "\"digest\":\"x"))),
        fault(&format!("{head}{}", line.replace("\"ending\"", "\"body\":[[1,\"a\"]],\"ending\""))),
        fault(&format!("{head}{}", line.replace("\"ending\"", "\"status\":20,\"ending\""))),
        fault(&format!(
            "{head}{}",
            line.replace("\"ending\"", "\"status\":200,\"body\":[[9,\"a\"]],\"ending\"")
        )),
        fault(&format!("{head}{}", line.replace("\"ending\"", "\"status\":200,\"body\":[[1,7]],\"ending\""))),
        fault(&format!(
            "{head}{}",
            line.replace("\"ending\"", "\"status\":200,\"body\":[[1,{\"base64\":\"YQ\"}]],\"ending\"")
        )),
    ];
    expect![[r#"
        not a cassette: the first line is not {"trunkline_cassette":1}
        not a cassette: the first line is not {"trunkline_cassette":1}
        not a cassette: the first line is not {"trunkline_cassette":1}
        the cassette has version 2, this program reads version 1
        0 exchanges, torn: false
        0 exchanges, torn: false
        2 exchanges, torn: false
        1 exchanges, torn: false
        1 exchanges, torn: true
        line 2 of the cassette: EOF while parsing a string at column 40
        line 3 of the cassette: missing field `wire` at column 2
        line 2 of the cassette: unknown variant `torn`, expected one of `complete`, `cut`, `unreached`, `timed_out`, `cancelled` at column 149
        line 2 of the cassette: unknown field `wires`, expected one of `wire`, `origin`, `method`, `path`, `digest`, `status`, `headers`, `body`, `ending`, `ended`, `retried` at column 8
        line 2 of the cassette: the digest is not 64 hexadecimal digits
        line 2 of the cassette: there is an answer without a status
        line 2 of the cassette: there is no such status
        line 2 of the cassette: the times run backwards
        line 2 of the cassette: a piece of a body is [milliseconds, "text"] or [milliseconds, {"base64": "…"}] at column 161
        line 2 of the cassette: not base64 at column 175
    "#]].assert_eq(&all.concat());
}

#[test]
fn a_digest_is_of_what_is_asked_and_not_of_how_it_lies_in_memory() {
    // printf 'POST /v1/messages\n{"model":"m"}' | sha256sum
    let digest = "b1853603fbce71c52d6e863860519e75bb71904ceda289cc29935fc41e97bfc4";
    assert_eq!(Exchange::digest_of(&request()), digest);
    assert_eq!(Exchange::digest_of(&request().with_header("x", "y")), digest);

    let wire = Anthropic::new();
    let mut memo = Memo::new();
    let long = "words ".repeat(20_000);
    let mut messages = vec![Message::user(&long), Message::assistant(&long), Message::user("go on")];
    for _ in 0..3 {
        let request = Request::new("m", messages.clone());
        let next = wire.encode_next(&request, &mut memo).expect("legal");
        let fresh = wire.encode(&request).expect("legal");
        assert_eq!(Exchange::digest_of(&next), Exchange::digest_of(&fresh));
        messages.extend([Message::assistant("yes"), Message::user("more")]);
    }
}

#[test]
fn what_nobody_ended_was_cancelled() {
    let exchanges = recorded(None, |mut recording| {
        recording.answered(200, []);
        recording.received(millis(5), "a");
    });
    let [exchange] = exchanges.as_slice() else { panic!("{exchanges:?}") };
    assert_eq!((&exchange.ending, exchange.ended), (&Ending::Cancelled, millis(5)));
}

#[test]
fn an_answer_without_end_is_not_recorded_for_ever() {
    let piece = bytes::Bytes::from(vec![b'a'; 8 * 1024 * 1024]);
    let exchanges = recorded(None, |mut recording| {
        recording.answered(200, []);
        (0..20).for_each(|second| recording.received(millis(second), piece.clone()));
        recording.end(millis(20), Ending::Complete, None);
    });
    assert_eq!((exchanges[0].body.len(), &exchanges[0].ending), (8, &Ending::Cut));
}

#[test]
fn a_word_in_place_of_a_key_stays() {
    let exchanges = recorded(Some("ollama"), |mut recording| {
        recording.answered(200, []);
        recording.received(millis(1), "I am ollama");
        recording.end(millis(1), Ending::Complete, None);
    });
    assert_eq!(exchanges[0].body[0].bytes, "I am ollama");
}

fn ending() -> impl Strategy<Value = Ending> {
    let time = || (0_u64..100_000).prop_map(millis);
    prop_oneof![
        Just(Ending::Complete),
        Just(Ending::Cut),
        Just(Ending::Cancelled),
        "\\PC{0,9}".prop_map(|cause| Ending::Unreached { cause }),
        (0_usize..3, time()).prop_map(|(waiting, after)| {
            let waiting = [Waiting::Response, Waiting::NextBytes, Waiting::WholeAnswer][waiting];
            Ending::TimedOut { waiting, after }
        }),
    ]
}

proptest! {
    #[test]
    fn what_was_printed_is_read_again(
        pieces in prop::collection::vec((0_u64..5_000_000, prop::collection::vec(any::<u8>(), 0..9)), 0..9),
        words in "\\PC{0,9}",
        ending in ending(),
        wait in prop::option::of(0_u64..9_000),
        status in 100_u16..600,
    ) {
        let exchanges = recorded(None, |mut recording| {
            recording.answered(status, [("content-type", words.as_str())]);
            for (micros, bytes) in &pieces {
                recording.received(Duration::from_micros(*micros), bytes.clone());
            }
            recording.received(Duration::from_secs(1), words.clone());
            recording.end(Duration::from_secs(2), ending, wait.map(millis));
        });
        let mut cassette = Cassette::default();
        cassette.exchanges = exchanges;
        let text = cassette.print();
        prop_assert_eq!(Cassette::parse(&text), Ok(cassette), "{}", text);
        // Cut anywhere, it is torn or shorter, and never wrong.
        let inside = Cassette::head().len()..text.len() - 1;
        for at in inside.step_by(7).filter(|at| text.is_char_boundary(*at)) {
            prop_assert_eq!(Cassette::parse(&text[..at]).map(|cassette| cassette.exchanges), Ok(vec![]));
        }
    }

    #[test]
    fn no_text_is_fatal(text in "\\PC{0,40}", tail in "\\PC{0,40}") {
        let _ = Cassette::parse(&text);
        let _ = Cassette::parse(&format!("{}{text}\n{tail}", Cassette::head()));
    }

    #[test]
    fn no_key_is_kept_however_the_body_was_cut(
        words in prop::collection::vec("[a-zß/\"]{0,9}", 1..4),
        lengths in prop::collection::vec(1_usize..20, 1..9),
        key in "sk-[a-z/\"]{6,9}",
    ) {
        let quoted = serde_json::to_string(&key).expect("it is text");
        let quoted = &quoted[1..quoted.len() - 1];
        let forms = [key.as_str(), quoted, &quoted.replace('/', "\\/")];
        let mut body = String::new();
        for (word, form) in words.iter().zip(forms.iter().cycle()) {
            body.push_str(&format!("{word}<{form}>"));
        }
        let cause = format!("no host {key}");
        let exchanges = recorded(Some(&key), |mut recording| {
            recording.answered(401, [("location", format!("/login?key={key}").as_str())]);
            for (at, piece) in crate::splits::cut(body.as_bytes(), &lengths).into_iter().enumerate() {
                recording.received(millis(at as u64), piece.to_vec());
            }
            recording.end(Duration::from_secs(1), Ending::Unreached { cause }, None);
        });
        let kept: Vec<u8> = exchanges[0].body.iter().flat_map(|chunk| chunk.bytes.to_vec()).collect();
        let expected: String = words.iter().map(|word| format!("{word}<***>")).collect();
        prop_assert_eq!(String::from_utf8(kept), Ok(expected));
        prop_assert_eq!(&exchanges[0].headers[0].1, "/login?key=***");
        prop_assert_eq!(&exchanges[0].ending, &Ending::Unreached { cause: "no host ***".to_owned() });
    }
}

#[cfg(feature = "http")]
mod on_disk {
    use trunkline_providers::{CassetteFile, Record as _};

    use super::*;

    fn exchange(at: u64) -> Exchange {
        recorded(None, |recording| recording.end(millis(at), Ending::Cut, None)).remove(0)
    }

    #[test]
    fn a_cassette_goes_on_where_it_was_torn() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tape.jsonl");
        let read = || Cassette::parse(&std::fs::read_to_string(&path).expect("text")).expect("a cassette");

        let file = CassetteFile::open(&path).expect("a new one");
        file.exchange(&exchange(1));
        assert_eq!(read().exchanges, [exchange(1)]);
        drop(file);

        let file = CassetteFile::open(&path).expect("the same");
        file.exchange(&exchange(2));
        assert!(file.take_fault().is_none());
        drop(file);
        let whole = std::fs::read_to_string(&path).expect("text");
        assert_eq!(read().exchanges, [exchange(1), exchange(2)]);

        // Killed in the middle of a line, of a letter, of the first line; or edited by hand.
        let second = whole.len() - exchange(2).line().len();
        std::fs::write(&path, &whole[..whole.len() - 9]).expect("writable");
        CassetteFile::open(&path).expect("torn").exchange(&exchange(3));
        assert_eq!(read().exchanges, [exchange(1), exchange(3)]);
        std::fs::write(&path, [&whole.as_bytes()[..second], b"{\"wire\":\"\xc3"].concat()).expect("writable");
        CassetteFile::open(&path).expect("torn").exchange(&exchange(3));
        assert_eq!(read().exchanges, [exchange(1), exchange(3)]);
        std::fs::write(&path, &whole[..whole.len() - 1]).expect("writable");
        CassetteFile::open(&path).expect("whole").exchange(&exchange(3));
        assert_eq!(read().exchanges, [exchange(1), exchange(2), exchange(3)]);
        std::fs::write(&path, &whole[..9]).expect("writable");
        CassetteFile::open(&path).expect("as good as new").exchange(&exchange(3));
        assert_eq!(read().exchanges, [exchange(3)]);
    }

    #[test]
    fn another_file_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notes.txt");
        for text in ["not a cassette\n", "no line break", "{\"trunkline_cassette\":1}\n{}\n"] {
            std::fs::write(&path, text).expect("writable");
            let fault = CassetteFile::open(&path).err().expect("it is another file");
            assert_eq!(fault.kind(), std::io::ErrorKind::InvalidData, "{fault}");
            assert_eq!(std::fs::read_to_string(&path).expect("text"), text);
        }
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tape.jsonl");
        drop(CassetteFile::open(&path).expect("a new one"));
        assert_eq!(std::fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
    }
}
