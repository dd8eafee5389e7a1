//! `--record` and `--replay`: real exchanges kept in a file, and played in place of the service.
//!
//! A recording says who was asked, so nothing else has to be named to play it. A request is known again by its digest.
//! Nothing in a request depends on the time or the place except what tools say: a command's result tells how long it
//! took and may tell anything else, and a failure may name the folder. So a request that holds one of these may differ
//! from the recorded one; then the recording goes on in order, and that is told. Any other difference is an error.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use trunkline_message_tree::Origin;
use trunkline_providers::{
    Bounds, Cassette, CassetteError, CassetteFile, Exchange, Feature, Provider, ProviderError, Replay, Reply,
    Request, Support, Wire,
};

use crate::desk::asked::wire_of;
use crate::term::fault::Fault;
use crate::term::style::{DIM, YELLOW, paint};
use crate::term::text::decoded;

/// The tool whose results differ from run to run.
const COMMAND: &str = "run_command";

/// What is recorded or played beside a run.
#[derive(Clone, Default)]
pub(crate) enum Tape {
    /// Nothing.
    #[default]
    None,
    /// All exchanges go to a file.
    Records(Arc<CassetteFile>, PathBuf),
    /// All answers come from one.
    Plays(Player),
}

/// Opens a cassette to record to, or makes one. What is in it stays.
pub(crate) fn record(path: &Path) -> Result<Arc<CassetteFile>, Fault> {
    let file = CassetteFile::open(path).map_err(|error| {
        Fault::usage(format!("cannot record to {}: {error}", path.display()))
            .hint("--record names a new file, or one that was recorded before")
    })?;
    Ok(Arc::new(file))
}

/// Opens a cassette to play. `last` is who wrote the session's last reply, who is preferred if the cassette has more than one.
pub(crate) fn play(path: &Path, last: Option<&Origin>, bounds: Bounds) -> Result<Player, Fault> {
    let cannot =
        |reason: &dyn std::fmt::Display| Fault::usage(format!("cannot replay {}: {reason}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| cannot(&error))?;
    let text = decoded(bytes).map_err(|why| cannot(&why))?;
    let (cassette, torn) = up_to_torn(&text).map_err(|error| cannot(&error))?;
    if cassette.exchanges.is_empty() {
        return Err(cannot(&"nothing was recorded in it"));
    }
    let known: Vec<&Origin> =
        cassette.exchanges.iter().filter_map(|exchange| exchange.origin.as_ref()).collect();
    let origin = last.filter(|last| known.contains(last)).or_else(|| known.first().copied()).cloned();
    let origin = origin
        .ok_or_else(|| cannot(&"it does not say who was asked").hint("record it again with --record"))?;
    let wire = wire_of(&origin).ok_or_else(|| {
        cannot(&format!("it is of {:?}, which this command does not know", origin.provider))
    })?;
    let exchanges = cassette.exchanges.into_iter().map(Some).collect();
    let left = Left { exchanges, next: 0, asked: 0, strayed: Vec::new() };
    let (wire, left) = (wire.into(), Arc::new(Mutex::new(left)));
    Ok(Player { path: path.to_owned(), origin, wire, left, torn, bounds })
}

/// Reads a cassette up to a line that was not written to its end and written on, or where another begins; says its number.
fn up_to_torn(text: &str) -> Result<(Cassette, Option<usize>), CassetteError> {
    let (line, fault) = match Cassette::parse(text) {
        Ok(cassette) => return Ok((cassette, None)),
        Err(CassetteError::Line { line, reason }) => (line, CassetteError::Line { line, reason }),
        Err(fault) => return Err(fault),
    };
    let lines = || text.split_inclusive('\n');
    let is_torn = |found: &str| {
        found.trim_end() == Cassette::head().trim_end()
            || serde_json::from_str::<serde::de::IgnoredAny>(found.trim_end()).is_err()
    };
    // A whole line that is no exchange was written so by somebody.
    if !lines().nth(line.saturating_sub(1)).is_some_and(is_torn) {
        return Err(fault);
    }
    let before: String = lines().take(line.saturating_sub(1)).collect();
    Ok((Cassette::parse(&before)?, Some(line)))
}

impl Tape {
    /// Returns what there is to say of it when the run has ended: trouble first, then what can be left out.
    pub(crate) fn told(&self) -> (Option<String>, Option<String>) {
        match self {
            Tape::None => (None, None),
            Tape::Records(file, path) => {
                let path = path.display();
                match file.take_fault() {
                    Some(fault) => {
                        (Some(paint(YELLOW, &format!("not all was recorded in {path}: {fault}\n"))), None)
                    }
                    None => (None, Some(paint(DIM, &format!("recorded in {path}\n")))),
                }
            }
            Tape::Plays(player) => player.told(),
        }
    }

    /// Returns the flag that a next command needs to do the same.
    pub(crate) fn flag(&self) -> Option<(&'static str, &Path)> {
        match self {
            Tape::None => None,
            Tape::Records(_, path) => Some(("--record", path)),
            Tape::Plays(player) => Some(("--replay", &player.path)),
        }
    }
}

/// A provider that plays a cassette. Its clones play the same one.
#[derive(Clone)]
pub(crate) struct Player {
    path: PathBuf,
    origin: Origin,
    /// Only writes requests, to know them again; each answer is read by a wire of its own.
    wire: Arc<dyn Wire>,
    left: Arc<Mutex<Left>>,
    /// The line at which the cassette was torn and written on.
    torn: Option<usize>,
    bounds: Bounds,
}

struct Left {
    /// `None` where one was played.
    exchanges: Vec<Option<Exchange>>,
    /// Behind the one that was played last.
    next: usize,
    /// How many requests came.
    asked: usize,
    /// Those of them that were not the recorded ones.
    strayed: Vec<usize>,
}

impl Player {
    /// Returns who is asked, in a few words.
    pub(crate) fn words(&self) -> String {
        format!("the recording {} ({})", self.path.display(), self.origin.model)
    }

    /// Takes out the exchange that answers a request, with the attempts before it.
    fn take(&self, digest: &str, may_differ: bool) -> Result<Cassette, ProviderError> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.asked += 1;
        let request = left.asked;
        let next = left.next;
        let is_same = left.exchanges.iter().flatten().any(|exchange| exchange.digest == digest);
        let following = left.exchanges.iter().skip(next).flatten().next();
        let (digest, from) = match following {
            _ if is_same => (digest.to_owned(), 0),
            // Without one that was the same there is no place to go on from.
            Some(following) if may_differ && next > 0 => (following.digest.clone(), next),
            _ => {
                let why = match left.exchanges.iter().position(Option::is_some) {
                    Some(at) => {
                        format!("it differs from what was recorded, which goes on with exchange {}", at + 1)
                    }
                    None => format!("all {} recorded exchanges were played", left.exchanges.len()),
                };
                return Err(ProviderError::NotRecorded { request, why });
            }
        };
        if !is_same {
            left.strayed.push(request);
        }
        let mut taken = Cassette::default();
        let left = &mut *left;
        for (at, slot) in left.exchanges.iter_mut().enumerate().skip(from) {
            let Some(exchange) = slot.take_if(|exchange| exchange.digest == digest) else { continue };
            let is_last = exchange.retried.is_none();
            taken.exchanges.push(exchange);
            left.next = at + 1;
            if is_last {
                break;
            }
        }
        Ok(taken)
    }

    fn told(&self) -> (Option<String>, Option<String>) {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let count = left.exchanges.len();
        let played = left.exchanges.iter().filter(|exchange| exchange.is_none()).count();
        let trouble = left.strayed.first().map(|first| {
            paint(
                YELLOW,
                &format!(
                    "from request {first} on the run differs from the recorded one ({} of {} requests): a command or a failed \
                     tool said something else; what was recorded was played in order\n",
                    left.strayed.len(),
                    left.asked
                ),
            )
        });
        let torn = self.torn.map(|line| {
            let path = self.path.display();
            paint(
                YELLOW,
                &format!("{path} was read up to line {line}, where a line was cut off or another recording begins\n"),
            )
        });
        let trouble = match (torn, trouble) {
            (Some(torn), trouble) => Some(torn + &trouble.unwrap_or_default()),
            (None, trouble) => trouble,
        };
        let account =
            paint(DIM, &format!("replayed {played} of {count} exchanges of {}\n", self.path.display()));
        (trouble, Some(account))
    }
}

#[async_trait]
impl Provider for Player {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn wire(&self) -> &str {
        self.wire.name()
    }

    fn support(&self, feature: Feature) -> Support {
        self.wire.support(feature)
    }

    async fn send(&self, request: Request) -> Result<Box<dyn Reply>, ProviderError> {
        let digest = Exchange::digest_of(&self.wire.encode(&request)?);
        let exchanges = self.take(&digest, may_differ(&request))?;
        let wire = wire_of(&self.origin).expect("it was known when the cassette was opened");
        let replay = Replay::new(exchanges, wire, self.origin.clone());
        replay.in_order().with_bounds(self.bounds).send(request).await
    }

    fn answers_in_background(&self, request: &Request) -> bool {
        self.wire.fetch(request, "id").is_some()
    }

    async fn fetch(&self, request: &Request, id: &str) -> Result<Option<Box<dyn Reply>>, ProviderError> {
        let Some(encoded) = self.wire.fetch(request, id) else { return Ok(None) };
        let exchanges = self.take(&Exchange::digest_of(&encoded), may_differ(request))?;
        let wire = wire_of(&self.origin).expect("it was known when the cassette was opened");
        let replay = Replay::new(exchanges, wire, self.origin.clone());
        replay.in_order().with_bounds(self.bounds).fetch(request, id).await
    }
}

/// Whether there is something in a request that differs from run to run.
fn may_differ(request: &Request) -> bool {
    let commands: HashSet<&str> = request
        .messages
        .iter()
        .flat_map(|message| message.calls())
        .filter(|call| call.name == COMMAND)
        .map(|call| call.id.as_str())
        .collect();
    let mut results = request.messages.iter().flat_map(|message| message.results());
    results.any(|result| result.is_error || commands.contains(result.call_id.as_str()))
}
