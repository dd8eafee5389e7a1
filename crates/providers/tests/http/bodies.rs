//! What is sent, and what it costs to send it again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use trunkline_message_tree::{Message, Timestamp};
use trunkline_providers::{
    Anthropic, BaseUrl, Body, Decode, EncodeError, Feature, HttpProvider, HttpRequest, Memo, OpenAiChat,
    Provider, ProviderError, Request, Secret, Sign, SignError, Support, Wire,
};

use crate::scripted::collect;

use super::{
    answer, ask, attempts, block_on, chat, listen, origin, perform, read_request_bytes, refusal, serve,
};

/// Turns of about a hundred kilobytes.
fn long_conversation(turns: usize) -> Vec<Arc<Message>> {
    let text = "wörter ".repeat(12_500);
    let message = |number: usize| match number % 2 {
        0 => Message::user(format!("{number} {text}")),
        _ => Message::assistant(format!("{number} {text}")),
    };
    (0..turns).map(|number| message(number).into()).chain([Message::user("so?").into()]).collect()
}

#[test]
fn a_large_body_is_sent_as_it_was_encoded_with_its_length() {
    let (listener, base) = listen();
    let (tell, told) = channel();
    thread::spawn(move || {
        // The second attempt sends the same once more.
        for acts in [refusal("503 Busy", "", "{}"), answer()] {
            let (mut stream, _) = listener.accept().expect("a client");
            let _ = tell.send(read_request_bytes(&mut stream));
            acts.iter().for_each(|act| perform(act, &mut stream));
        }
    });
    // As a conversation grows: what each turn added is a piece of its own.
    let (provider, wire, mut memo) = (chat(base), OpenAiChat::default(), Memo::new());
    let (messages, mut encoded) = (long_conversation(120), Body::default());
    for turn in (1..=121).step_by(2) {
        let request = Request::new("m", messages[..turn].to_vec());
        encoded = wire.encode_next(&request, &mut memo).expect("legal").body;
        assert!(block_on(provider.send(request)).is_ok());
    }
    assert!(encoded.chunks().len() > 50 && encoded.len() > 10_000_000, "{}", encoded.chunks().len());
    let (events, outcome) = block_on(collect(&provider, Request::new("m", messages)));
    assert_eq!((outcome, attempts(&events)), (Ok(()), 2));
    for sent in told.iter() {
        let end = sent.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8_lossy(&sent[..end]).to_ascii_lowercase();
        assert!(head.contains(&format!("\r\ncontent-length: {}", encoded.len())), "{head}");
        assert!(!head.contains("transfer-encoding") && !head.contains("accept-encoding"), "{head}");
        assert!(sent[end + 4..] == encoded.to_vec(), "the bytes differ");
    }
}

/// Anthropic, watched: how much of each request was known, and where its largest piece lies.
#[derive(Clone, Default)]
struct Watched {
    known: Arc<Mutex<Vec<usize>>>,
    // How many encode at this moment, and the most that ever did.
    inside: Arc<AtomicUsize>,
    together: Arc<AtomicUsize>,
    wait_for: usize,
    pieces: Arc<Mutex<Vec<usize>>>,
}

impl Watched {
    fn provider(&self) -> HttpProvider {
        let base: BaseUrl = "http://localhost:9".parse().expect("a base URL");
        HttpProvider::new(Box::new(self.clone()), base, None, origin()).expect("a provider")
    }
}

impl Wire for Watched {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn support(&self, feature: Feature) -> Support {
        Anthropic::new().support(feature)
    }

    fn encode(&self, request: &Request) -> Result<HttpRequest, EncodeError> {
        Anthropic::new().encode(request)
    }

    fn encode_next(&self, request: &Request, memo: &mut Memo) -> Result<HttpRequest, EncodeError> {
        self.known.lock().expect("whole").push(memo.shared_with(&request.messages));
        let begun = Instant::now();
        self.inside.fetch_add(1, Ordering::SeqCst);
        while self.inside.load(Ordering::SeqCst) < self.wait_for && begun.elapsed() < Duration::from_secs(5) {
            thread::yield_now();
        }
        self.together.fetch_max(self.inside.load(Ordering::SeqCst), Ordering::SeqCst);
        let encoded = Anthropic::new().encode_next(request, memo)?;
        let largest = encoded.body.chunks().iter().max_by_key(|chunk| chunk.len());
        self.pieces.lock().expect("whole").extend(largest.map(|chunk| chunk.as_ptr() as usize));
        Ok(encoded)
    }

    fn key_header(&self, key: &Secret) -> (String, String) {
        Anthropic::new().key_header(key)
    }

    fn decoder(&self, request: &Request) -> Box<dyn Decode> {
        Anthropic::new().decoder(request)
    }

    fn error(&self, status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError {
        Anthropic::new().error(status, headers, body)
    }
}

fn prepare(provider: &HttpProvider, messages: &[Arc<Message>]) -> Result<(), ProviderError> {
    block_on(provider.send(Request::new("m", messages.to_vec()))).map(|_| ())
}

#[test]
fn the_next_request_shares_the_bytes_of_the_one_before() {
    let watched = Watched::default();
    let provider = watched.provider();
    let mut messages = long_conversation(4);
    for _ in 0..3 {
        assert_eq!(prepare(&provider, &messages), Ok(()));
        messages.extend([Message::assistant("well").into(), Message::user("and?").into()]);
    }
    assert_eq!(*watched.known.lock().expect("whole"), [0, 5, 7]);
    let pieces = watched.pieces.lock().expect("whole");
    assert!(pieces[0] == pieces[1] && pieces[1] == pieces[2], "{pieces:?}");
}

/// Holds one conversation more than are known, each with words of this length, and checks that the one that waited longest goes.
fn one_too_many(most: usize, words: usize) {
    let watched = Watched::default();
    let provider = watched.provider();
    let instructions: Arc<Message> = Message::system("be brief").into();
    let mut talks: Vec<Vec<Arc<Message>>> = (0..=most)
        .map(|number| {
            vec![
                instructions.clone(),
                Message::user(format!("I am {number}{}", "!".repeat(words))).into(),
                Message::assistant("hello").into(),
                Message::user("well?").into(),
            ]
        })
        .collect();
    let mut turn = |number: usize| {
        watched.known.lock().expect("whole").clear();
        assert_eq!(prepare(&provider, &talks[number]), Ok(()));
        talks[number].extend([Message::assistant("yes").into(), Message::user("more").into()]);
        watched.known.lock().expect("whole")[0]
    };
    // Instructions that all share are no conversation.
    assert!((0..most).all(|number| turn(number) == 0));
    assert!((0..most).rev().all(|number| turn(number) == 4));
    // The last takes the place of the one that was used first since.
    assert_eq!(turn(most), 0);
    assert!((0..most - 1).all(|number| turn(number) == 6));
    assert_eq!(turn(most - 1), 0);
}

#[test]
fn conversations_are_known_and_the_one_that_waited_longest_goes() {
    one_too_many(64, 0);
}

#[test]
fn of_long_conversations_four_are_known() {
    one_too_many(4, 9 << 20);
}

#[test]
fn what_could_not_be_encoded_leaves_the_others_alone() {
    let watched = Watched::default();
    let provider = watched.provider();
    let talk = long_conversation(2);
    assert_eq!(prepare(&provider, &talk), Ok(()));
    let refused = prepare(&provider, &[Message::user(" ").into()]);
    assert!(matches!(refused, Err(ProviderError::Encode(_))), "{refused:?}");
    assert_eq!(prepare(&provider, &talk), Ok(()));
    assert_eq!(*watched.known.lock().expect("whole"), [0, 0, 3]);
}

#[test]
fn nobody_waits_for_the_encoding_of_another() {
    let watched = Watched { wait_for: 2, ..Watched::default() };
    let provider = watched.provider();
    let talk = long_conversation(2);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(prepare(&provider, &talk), Ok(())));
        }
    });
    assert_eq!(watched.together.load(Ordering::SeqCst), 2);
}

/// Signs with what it was given to sign.
struct Witness;

impl Sign for Witness {
    fn sign(
        &self,
        request: &HttpRequest,
        url: &str,
        at: Timestamp,
    ) -> Result<Vec<(String, String)>, SignError> {
        let own = request.headers.iter().find(|(name, _)| name == "X-Own").map(|(_, value)| value.as_str());
        let seen = format!("{url} {} {}", request.body.len(), own.unwrap_or_default());
        let recent = at > Timestamp(1_700_000_000_000);
        let signed =
            [("x-seen", seen), ("x-recent", recent.to_string()), ("authorization", "s1gn3d-s1gn3d".into())];
        Ok(signed.map(|(name, value)| (name.to_owned(), value)).to_vec())
    }
}

#[test]
fn each_attempt_is_signed_as_it_is_sent() {
    let quoting = r#"{"error":{"message":"I got s1gn3d-s1gn3d"}}"#;
    let (base, told) = serve(vec![refusal("503 Busy", "", "{}"), refusal("403 No", "", quoting)]);
    let provider = chat(base.clone()).with_header("X-Own", "mine").expect("a header").with_signer(Witness);
    let (events, outcome) = ask(&provider);
    let error = outcome.expect_err("refused").to_string();
    assert_eq!((error.as_str(), attempts(&events)), ("authentication (status 403): I got ***", 2));
    for request in told.iter() {
        let (head, body) = request.split_once("\r\n\r\n").expect("a head");
        assert!(
            head.contains(&format!("\r\nx-seen: {base}/v1/chat/completions {} mine", body.len())),
            "{head}"
        );
        assert!(head.contains("\r\nx-recent: true") && head.contains("\r\nauthorization: s1gn3d"), "{head}");
        assert!(!head.contains("sk-secret"), "{head}");
    }
}

struct Refuser;

impl Sign for Refuser {
    fn sign(&self, _: &HttpRequest, _: &str, _: Timestamp) -> Result<Vec<(String, String)>, SignError> {
        Err(SignError::Credentials { what: "region" })
    }
}

#[test]
fn what_cannot_be_signed_is_not_sent() {
    let (base, told) = serve(vec![answer()]);
    let (events, outcome) = ask(&chat(base).with_signer(Refuser));
    assert_eq!(outcome, Err(ProviderError::Sign(SignError::Credentials { what: "region" })));
    assert_eq!((events, told.try_iter().count()), (vec![], 0));
}
