//! What is rare in sessions whose logs are kept: services that want something else, summaries, caches, and writers that are
//! taken over in the middle of something.

use std::sync::Arc;

use async_trait::async_trait;
use trunkline_runtime::message_tree::{Origin, Timestamp, Usage};
use trunkline_runtime::providers::{
    self, ErrorKind, Provider, ProviderError, Reply, Request, Scripted, Trait, Turn,
};
use trunkline_runtime::revert::{CacheGrain, Rates};
use trunkline_runtime::session_store::SessionStore;
use trunkline_runtime::{
    Agent, AgentBuilder, Cancel, Event, LeftBranch, Reverts, Session, Summarizer, SummaryError,
};

use crate::old_folder::Folder;
use crate::old_scenes::Scene;

/// Somebody hangs in an apply.
const HANGING: &str = "hanging";

/// Returns the scenes of what is rare.
pub(crate) fn scenes(scene: impl Fn(&str, &str, &[&str]) -> Scene) -> Vec<Scene> {
    vec![
        scene(
            "wants",
            "always has-address",
            &[
                "prompt do: want no_temperature",
                "prompt do: read a / say garbled",
                "prompt do: never instructions_of_user",
                "prompt do: read long / fit",
                "post distrust",
                "read letters",
                "prompt do: want no_temperature",
            ],
        ),
        scene(
            "summaries",
            "always reverts prices sums-up",
            &[
                "prompt do: read a / read a / back n3 / say b then",
                "finish",
                "prompt do: edit a new / say so",
                "leave n1",
                "prompt do: say more",
                "finish",
                "prompt do: say done",
            ],
        ),
        scene(
            "no-summary",
            "always reverts compacts no-summary",
            &[
                "prompt do: read a + read a / say one",
                "prompt do: read a + read a / say two",
                "prompt do: read a + read a / say three",
                "compact",
                "prompt do: say four",
            ],
        ),
        scene(
            "brought",
            "person folder commits",
            &[
                "prompt do: edit a new",
                "post distrust",
                "write b by hand",
                "read letters",
                "resume",
                "prompt do: edit b more",
                "approve p2",
                "resume",
            ],
        ),
        scene(
            "held",
            "person reverts",
            &[
                "prompt do: edit a new + sh test + edit b more / say so",
                "approve p1",
                "resume",
                "approve p2",
                "reject p3 not now",
                "resume",
                "resume",
            ],
        ),
        scene(
            "expires",
            "person soon expires",
            &[
                "prompt do: edit a new + sh test / say well",
                "wait 5000",
                "resume",
                "wait 5000",
                "resume",
                "prompt do: edit b more",
                "approve p3",
                "wait 5000",
                "resume",
                "prompt do: edit c last",
                "approve p4",
                "resume",
            ],
        ),
        scene(
            "taken",
            "always folder soon taken",
            &[
                "prompt do: edit a new",
                "usurp before do: edit b more",
                "resume",
                "usurp after do: edit c more",
                "resume",
                "rollback 0",
                "prompt do: say done",
            ],
        ),
    ]
}

fn refused(kind: ErrorKind, wants: Option<Trait>) -> Turn {
    Turn::new().fail(ProviderError::api(400, kind, "not so").wanting(wants))
}

/// Returns what the model says in steps that are rare.
pub(crate) fn turn(request: &Request, step: &str, rest: &str) -> Option<Turn> {
    Some(match step {
        // Is said once it is asked so.
        "want" | "never" => {
            let one = Trait::named(rest).unwrap();
            match step == "want" && request.traits.has(one) {
                true => Turn::say("as it was wanted"),
                false => refused(ErrorKind::InvalidRequest, Some(one)),
            }
        }
        "fit" => {
            let results = request.messages.iter().flat_map(|message| message.results());
            match results.map(|result| result.text().len()).max() {
                Some(4_000..) => refused(ErrorKind::ContextTooLong, None),
                _ => Turn::say("it fits"),
            }
        }
        _ => return None,
    })
}

/// The scripted model, behind a cache that holds until something was left, and that says what of it could not be read.
struct Rare(Scripted);

struct RareReply {
    inner: Box<dyn Reply>,
    unread: bool,
    input_tokens: u64,
    cache_read_tokens: u64,
}

#[async_trait]
impl Provider for Rare {
    fn origin(&self) -> &Origin {
        self.0.origin()
    }

    fn wire(&self) -> &str {
        self.0.wire()
    }

    async fn send(&self, request: Request) -> Result<Box<dyn Reply>, ProviderError> {
        let input_tokens = 1_000 + 500 * request.messages.len() as u64;
        let left = request.messages.iter().any(|message| message.text().contains("[revert-"));
        let cache_read_tokens = if left { 0 } else { input_tokens - 500 };
        let inner = self.0.send(request).await?;
        Ok(Box::new(RareReply { inner, unread: false, input_tokens, cache_read_tokens }))
    }
}

#[async_trait]
impl Reply for RareReply {
    async fn next(&mut self) -> Result<Option<providers::Event>, ProviderError> {
        if std::mem::take(&mut self.unread) {
            let (text, cause) = ("{\"garb".to_owned(), "it ends early".to_owned());
            return Ok(Some(providers::Event::Unread { text, cause }));
        }
        let event = self.inner.next().await?;
        Ok(event.map(|event| match event {
            providers::Event::Usage(usage) => {
                let Self { input_tokens, cache_read_tokens, .. } = *self;
                providers::Event::Usage(Usage { input_tokens, cache_read_tokens, ..usage })
            }
            event => {
                self.unread = matches!(&event, providers::Event::TextDelta(text) if text.contains("garbled"));
                event
            }
        }))
    }
}

/// Says at once what a branch came to.
struct SumsUp;

#[async_trait]
impl Summarizer for SumsUp {
    async fn summarize(&self, _: LeftBranch) -> Result<String, SummaryError> {
        Ok("it came to nothing".to_owned())
    }
}

/// Returns a builder whose agent asks the model.
pub(crate) fn builder(scene: &Scene, model: Scripted) -> AgentBuilder {
    match scene.has("prices") || scene.has("has-address") {
        true => Agent::builder(Rare(model)),
        false => Agent::builder(model),
    }
}

/// Returns the agent with what is rare in a scene.
pub(crate) fn agent(scene: &Scene, folder: &Folder, mut agent: AgentBuilder) -> AgentBuilder {
    if scene.has("has-address") {
        agent = agent.asked_at("http://127.0.0.1:9/v1");
    }
    if scene.has("expires") {
        agent = agent.proposals_expire_after(std::time::Duration::from_secs(4));
    }
    if scene.has("sums-up") {
        agent = agent.summarizer(SumsUp);
    }
    if scene.has("taken") {
        // What is waited for is over when it is looked at again.
        let folder = folder.clone();
        agent = agent.on_event(move |event| {
            if matches!(event, Event::AwaitingApply { .. } | Event::AwaitingRollback { .. }) {
                folder.0.lock().unwrap().late += 60_000;
            }
        });
    }
    agent
}

/// Returns what a revert costs there.
pub(crate) fn priced(scene: &Scene, reverts: Reverts) -> Reverts {
    let rates = Rates::new(100, 1_250, 0, CacheGrain::RequestEnds, "made up for tests");
    if scene.has("prices") { reverts.rates(rates) } else { reverts }
}

/// Prompts, and takes the session over from its writer, who is in the middle of an apply and does nothing more.
pub(crate) async fn usurp(
    session: &mut Session,
    (scene, store, folder): (&Scene, &Arc<dyn SessionStore>, &Folder),
    (when, prompt): (&str, &str),
) -> String {
    let cancel = Cancel::new();
    folder.0.lock().unwrap().hangs = when.to_owned();
    let hung = async {
        while folder.0.lock().unwrap().hangs != HANGING {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        stop = session.prompt(prompt, &cancel) => return format!("not taken over: {stop:?}"),
        () = hung => {}
    }
    folder.0.lock().unwrap().hangs.clear();
    let agent = scene.agent(folder, 500);
    match agent.take_over(Arc::clone(store), session.id()).await {
        Ok(taken) => *session = taken,
        Err(fault) => return format!("error: {fault}"),
    }
    "taken over".to_owned()
}

/// Returns the time of a clock in a folder where some has passed.
pub(crate) fn time(folder: &Folder, now: u64) -> Timestamp {
    Timestamp(now + folder.0.lock().unwrap().late)
}

/// Waits for ever where a writer is to be taken over in the middle of an apply: before it writes, or after.
pub(crate) async fn hang(folder: &Folder, when: &str) {
    let here = {
        let mut disk = folder.0.lock().unwrap();
        let here = disk.hangs == when;
        if here {
            disk.hangs = HANGING.to_owned();
        }
        here
    };
    if here {
        std::future::pending::<()>().await;
    }
}

/// Returns a file of which a result is that does not fit.
pub(crate) fn long() -> String {
    "a line of a file that is long\n".repeat(200)
}
