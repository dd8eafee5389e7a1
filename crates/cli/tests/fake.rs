//! A model's endpoint on this machine that answers what it was told to, and a scene to run the binary in.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use trunkline_session_store::{SessionId, SessionStore, SqliteStore};

/// What one request is answered with.
pub(crate) enum Answer {
    /// A complete body of server-sent events.
    Events(String),
    /// Some events, and then silence.
    Silence(String),
    /// A page for people.
    Html,
    /// A refusal: its status and what it says.
    Refusal(u16, &'static str),
    /// A service that is busy and says for how many seconds.
    Busy(u32),
}

/// An endpoint that answers each request with the next answer, and keeps what it was sent.
pub(crate) struct Endpoint {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Endpoint {
    pub(crate) fn new(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("it has an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for answer in answers {
                let Ok((stream, _)) = listener.accept() else { return };
                let kept = Arc::clone(&kept);
                // A silent one must not keep the next request waiting.
                std::thread::spawn(move || serve(&stream, |_| answer, &kept));
            }
        });
        Endpoint { address, requests }
    }

    /// Returns one that answers each request by what it says, for requests that come in no certain order.
    pub(crate) fn by(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("it has an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer) = (Arc::clone(&requests), Arc::new(answer));
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || serve(&stream, |request| answer(request), &kept));
            }
        });
        Endpoint { address, requests }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the whole of each request, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("nobody panics with it").clone()
    }
}

fn serve(mut stream: &TcpStream, answer: impl FnOnce(&str) -> Answer, kept: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let (mut request, mut length) = (String::new(), 0);
    loop {
        let start = request.len();
        if reader.read_line(&mut request).unwrap_or(0) == 0 {
            return;
        }
        let line = request[start..].trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the body comes whole");
    request.push_str(&String::from_utf8_lossy(&body));
    let answer = answer(&request);
    kept.lock().expect("nobody panics with it").push(request);
    let wait = match &answer {
        Answer::Busy(seconds) => format!("retry-after: {seconds}\r\n"),
        _ => String::new(),
    };
    let (status, kind, body) = match &answer {
        Answer::Events(body) | Answer::Silence(body) => (200, "text/event-stream", body.as_str()),
        Answer::Html => (200, "text/html", "<!DOCTYPE html><html><body>Welcome to nginx!</body></html>"),
        Answer::Refusal(status, body) => (*status, "application/json", *body),
        Answer::Busy(_) => (503, "application/json", r#"{"error":{"message":"busy"}}"#),
    };
    let head =
        format!("HTTP/1.1 {status} So\r\ncontent-type: {kind}\r\n{wait}connection: close\r\n\r\n{body}");
    let _ = stream.write_all(head.as_bytes());
    if matches!(answer, Answer::Silence(_)) {
        // Until the other side has gone.
        let _ = stream.read(&mut [0]);
    }
}

/// An OpenAI answer of words.
pub(crate) fn says(words: &str) -> Answer {
    Answer::Events(chunks(&[json!({ "content": words })], "stop"))
}

/// The beginning of an OpenAI answer, and nothing more.
pub(crate) fn begins(words: &str) -> Answer {
    Answer::Silence(chunk(&json!({ "content": words }), &Value::Null))
}

/// The beginning of an OpenAI answer, and then the end of the connection.
pub(crate) fn cuts(words: &str) -> Answer {
    Answer::Events(chunk(&json!({ "content": words }), &Value::Null))
}

/// An OpenAI answer that comes to its end without words and without a call.
pub(crate) fn ends(delta: &Value, finish: &str) -> Answer {
    Answer::Events(chunks(std::slice::from_ref(delta), finish))
}

/// An OpenAI answer with one call; the arguments go out as they are.
pub(crate) fn calls(name: &str, arguments: &str) -> Answer {
    let call = json!({ "index": 0, "id": "call_1", "type": "function", "function": { "name": name, "arguments": arguments } });
    Answer::Events(chunks(&[json!({ "tool_calls": [call] })], "tool_calls"))
}

/// An OpenAI answer with several calls.
pub(crate) fn calls_all(calls: &[(&str, String)]) -> Answer {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, (name, arguments))| {
            json!({ "index": index, "id": format!("call_{index}"), "type": "function", "function": { "name": name, "arguments": arguments } })
        })
        .collect();
    Answer::Events(chunks(&[json!({ "tool_calls": calls })], "tool_calls"))
}

fn chunks(deltas: &[Value], finish: &str) -> String {
    let mut body: String = deltas.iter().map(|delta| chunk(delta, &Value::Null)).collect();
    body.push_str(&chunk(&json!({}), &json!(finish)));
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105 });
    body.push_str(&format!(
        "data: {}\n\n",
        json!({ "id": "x", "model": "m", "choices": [], "usage": usage })
    ));
    body.push_str("data: [DONE]\n\n");
    body
}

fn chunk(delta: &Value, finish: &Value) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    format!("data: {}\n\n", json!({ "id": "x", "model": "m", "choices": [choice] }))
}

/// An Anthropic answer of words.
pub(crate) fn anthropic_says(words: &str) -> Answer {
    let event = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        format!("event: {kind}\ndata: {data}\n\n")
    };
    let usage = json!({ "input_tokens": 100, "output_tokens": 1 });
    let message = json!({ "id": "x", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage });
    Answer::Events(
        [
            event("message_start", json!({ "message": message })),
            event("content_block_start", json!({ "index": 0, "content_block": { "type": "text", "text": "" } })),
            event("content_block_delta", json!({ "index": 0, "delta": { "type": "text_delta", "text": words } })),
            event("content_block_stop", json!({ "index": 0 })),
            event(
                "message_delta",
                json!({ "delta": { "stop_reason": "end_turn", "stop_sequence": null }, "usage": { "output_tokens": 5 } }),
            ),
            event("message_stop", json!({})),
        ]
        .concat(),
    )
}

/// A store and a folder to work in, both empty, and an environment that holds nothing else.
pub(crate) struct Scene {
    folder: tempfile::TempDir,
    variables: Vec<(&'static str, String)>,
}

/// What a command said.
pub(crate) struct Said {
    pub(crate) exit: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("work")).expect("a folder to work in");
        Scene { folder, variables: Vec::new() }
    }

    /// Lets runs ask the model at an endpoint, as OpenAI's API.
    pub(crate) fn with(answers: Vec<Answer>) -> (Self, Endpoint) {
        let endpoint = Endpoint::new(answers);
        let mut scene = Scene::new();
        scene.set("OPENAI_BASE_URL", &endpoint.address);
        scene.set("TRUNKLINE_MODEL", "m");
        (scene, endpoint)
    }

    /// The same as Anthropic's.
    pub(crate) fn with_anthropic(answers: Vec<Answer>) -> (Self, Endpoint) {
        let endpoint = Endpoint::new(answers);
        let mut scene = Scene::new();
        scene.set("ANTHROPIC_BASE_URL", &endpoint.address);
        scene.set("ANTHROPIC_API_KEY", "a-key");
        (scene, endpoint)
    }

    pub(crate) fn set(&mut self, name: &'static str, value: &str) {
        self.variables.push((name, value.to_owned()));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path("store/sessions.db")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
        command.args(arguments).current_dir(self.work()).env_clear();
        command.env("PATH", path_with_the_binary());
        command.env("HOME", self.folder.path()).env("TRUNKLINE_STORE", self.store());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        self.said(self.command(arguments).output().expect("the binary runs"))
    }

    /// Runs a command that has to succeed and returns its stdout.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert_eq!(said.exit, Some(0), "{arguments:?}: {}", said.err);
        said.out
    }

    /// Takes in sessions from lines of JSON.
    pub(crate) fn import(&self, lines: &str) {
        std::fs::write(self.path("made.jsonl"), lines).expect("written");
        self.ok(&["import", self.path("made.jsonl").to_str().expect("a plain path")]);
    }

    pub(crate) fn said(&self, output: Output) -> Said {
        let text = |bytes: Vec<u8>| self.tidy(&String::from_utf8(bytes).expect("UTF-8"));
        Said { exit: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs a command at a terminal of its own, if there is `script` to make one. Its colours are off.
    pub(crate) fn at_terminal(&self, arguments: &[&str]) -> Option<Terminal> {
        let plain = self.command(&[]);
        let quoted = arguments.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''")));
        let line = format!("trunkline {}", quoted.collect::<Vec<_>>().join(" "));
        let mut command = Command::new("script");
        command.args(["-qefc", &line, "/dev/null"]).current_dir(self.work()).env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("NO_COLOR", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let keys = child.stdin.take().expect("a pipe");
        let mut screen = child.stdout.take().expect("a pipe");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut piece) {
                kept.lock().expect("nobody panics with it").extend_from_slice(&piece[..length]);
            }
        });
        Some(Terminal { child, keys, seen, reader: Some(reader) })
    }

    /// Waits until something is so.
    pub(crate) fn until(&self, what: &str, so: impl Fn() -> bool) {
        for _ in 0..3_000 {
            if so() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it never came to this: {what}");
    }

    /// Returns the ids of all sessions, the one updated last first.
    pub(crate) fn ids(&self) -> Vec<String> {
        let output = self.command(&["sessions", "--json"]).output().expect("the binary runs");
        let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let sessions = listed["sessions"].as_array().expect("a list");
        sessions.iter().map(|info| info["id"].as_str().expect("an id").to_owned()).collect()
    }

    pub(crate) fn is_running(&self) -> bool {
        let output = self.command(&["sessions", "--json"]).output().expect("the binary runs");
        let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        listed["sessions"][0]["running"] == json!(true)
    }

    /// Returns how many notes wait in the inbox of a session.
    pub(crate) fn letters(&self, id: &str) -> usize {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
        runtime.block_on(async {
            let store = SqliteStore::open(self.store()).await.expect("it opens");
            let id = SessionId::parse(id).expect("an id");
            let waiting = store.inbox(&id).await.expect("it can be read").len();
            store.close().await;
            waiting
        })
    }

    /// Replaces what differs between two runs of the same test.
    fn tidy(&self, text: &str) -> String {
        let text = replace_path(text, self.folder.path());
        let mut tidy = String::new();
        for word in text.split_inclusive(|c: char| !(c.is_ascii_hexdigit() || c == '-')) {
            let (id, end) = match word.char_indices().next_back() {
                Some((at, last)) if !(last.is_ascii_hexdigit() || last == '-') => word.split_at(at),
                _ => (word, ""),
            };
            let shape = id.len() >= 8 && id.bytes().take(8).all(|byte| byte.is_ascii_hexdigit());
            let dashed = id.len() == 8 || id.as_bytes().get(8) == Some(&b'-');
            tidy.push_str(if shape && dashed { "ID" } else { id });
            tidy.push_str(end);
        }
        tidy
    }
}

/// A command at a terminal.
pub(crate) struct Terminal {
    child: Child,
    keys: ChildStdin,
    seen: Arc<Mutex<Vec<u8>>>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Terminal {
    pub(crate) fn shows(&self) -> String {
        let seen = self.seen.lock().expect("nobody panics with it").clone();
        String::from_utf8_lossy(&seen).replace("\r\n", "\n")
    }

    /// Waits until the screen has shown something so often.
    pub(crate) fn until(&self, words: &str, times: usize) {
        for _ in 0..3_000 {
            if self.shows().matches(words).count() >= times {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{words:?} was not shown {times} times: {}", self.shows());
    }

    pub(crate) fn types(&mut self, line: &str) {
        self.keys.write_all(format!("{line}\n").as_bytes()).expect("it listens");
        self.keys.flush().expect("it listens");
    }

    /// Waits for the end, and returns the exit code and what was shown.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().expect("it ends").code();
        // What is still on its way to the screen.
        self.reader.take().expect("it ends once").join().expect("it does not panic");
        (code, self.shows())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// As after an installation: hints name the binary as it is found on the path.
fn path_with_the_binary() -> OsString {
    let binary = Path::new(env!("CARGO_BIN_EXE_trunkline")).parent().expect("it is in a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(binary).chain(std::env::split_paths(&path))).expect("it was a path")
}

fn replace_path(text: &str, path: &Path) -> String {
    let given = path.display().to_string();
    let canonical = path.canonicalize().map_or_else(|_| given.clone(), |path| path.display().to_string());
    text.replace(&canonical, "TMP").replace(&given, "TMP")
}
