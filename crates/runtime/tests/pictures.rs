//! Prompts that show something.

use std::sync::{Arc, Mutex};

use expect_test::expect;
use trunkline_runtime::message_tree::{Author, Content, Media, MediaSource, Message, Part, Role, Timestamp};
use trunkline_runtime::orders::{self, Settled};
use trunkline_runtime::providers::{Anthropic, Dialect, OpenAiChat, Request, Scripted, Turn, Wire};
use trunkline_runtime::session_store::{MemoryStore, SessionStore};
use trunkline_runtime::{Agent, Cancel, Event, RuntimeError, Session, Stop};

fn media(media_type: &str) -> Media {
    let source = MediaSource::Base64("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=".to_owned());
    Media { media_type: media_type.to_owned(), source }
}

fn shown() -> Vec<Part> {
    vec![
        Part::text("Compare"),
        Part::Image(media("image/gif")),
        Part::Document(media("application/pdf")),
        Part::text("please"),
    ]
}

fn content() -> Vec<Content> {
    vec![
        Content::text("Compare"),
        Content::Image(media("image/gif")),
        Content::Document(media("application/pdf")),
        Content::text("please"),
    ]
}

/// A session, and the last message of each request that it makes.
async fn begin_at(
    provider: &str,
    wire: impl Wire + 'static,
) -> (Session, Arc<dyn SessionStore>, Arc<Mutex<Vec<Message>>>) {
    let asked: Arc<Mutex<Vec<Message>>> = Arc::default();
    let heard = Arc::clone(&asked);
    let model = Scripted::new(provider, "m", move |request: &Request| {
        heard.lock().unwrap().extend(request.messages.last().map(|message| Message::clone(message)));
        Turn::say("done")
    });
    let agent = Agent::builder(model.on(wire)).with_revert().build().unwrap();
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    (agent.start(Arc::clone(&store), "t", None).await.unwrap(), store, asked)
}

async fn begin() -> (Session, Arc<dyn SessionStore>, Arc<Mutex<Vec<Message>>>) {
    begin_at("scripted", Anthropic::new()).await
}

fn prompt(session: &Session) -> &Message {
    session.tree().trunk().messages().find(|message| message.author == Author::Person).unwrap()
}

#[tokio::test]
async fn what_is_shown_is_stored_and_sent_in_order() {
    let (mut session, _, asked) = begin().await;
    let stop = session.prompt(shown(), &Cancel::new()).await.unwrap();
    assert!(matches!(stop, Stop::Decided(_)));
    assert_eq!((prompt(&session).role, &prompt(&session).content), (Role::User, &content()));
    let asked = asked.lock().unwrap();
    let media = |message: &Message| {
        let is_media = |block: &&Content| !matches!(block, Content::Text { .. });
        message.content.iter().filter(is_media).cloned().collect::<Vec<_>>()
    };
    assert_eq!(media(&asked[0]), content()[1..3]);
    assert!(asked[0].text().contains("Compare") && asked[0].text().contains("please"));
}

#[tokio::test]
async fn a_wire_without_pictures_is_told_in_words_and_the_record_keeps_them() {
    let (mut session, _, asked) = begin_at("deepseek", OpenAiChat::new(Dialect::deepseek())).await;
    let repairs: Arc<Mutex<String>> = Arc::default();
    let heard = Arc::clone(&repairs);
    session.on_event(move |event| {
        if let Event::Asking { repairs, .. } = event {
            for repair in repairs {
                *heard.lock().unwrap() += &format!("{repair}\n");
            }
        }
    });
    session.prompt(shown(), &Cancel::new()).await.unwrap();
    assert_eq!(prompt(&session).content, content());
    expect![[r#"
        [n1]
        Compare
        (image/gif left out: not taken here)
        (application/pdf left out: not taken here)
        please
        replaced media (1) by words: not taken on this wire
        replaced media (1) by words: not taken on this wire
    "#]]
    .assert_eq(&format!("{}\n{}", asked.lock().unwrap()[0].text(), repairs.lock().unwrap()));
}

#[tokio::test]
async fn a_letter_can_show_something_too() {
    let (mut session, store, _) = begin().await;
    let id = session.id().clone();
    let left = async |parts| {
        let letter = orders::Order::PromptWith { parts };
        orders::post(store.as_ref(), &id, &letter, Timestamp(1)).await.unwrap()
    };
    let shown = left(shown()).await;
    let foreign = Part::Opaque { wire: "anthropic".to_owned(), json: "{}".to_owned() };
    let refused = left(vec![foreign]).await;
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(prompt(&session).content, content());
    assert_eq!(session.answer(), "done");
    let what = async |letter| orders::settled(store.as_ref(), &id, letter).await.unwrap();
    assert!(matches!(what(shown).await, Settled::Done { .. }));
    let Settled::Refused { reason } = what(refused).await else { panic!("it was taken") };
    assert_eq!(reason, "a prompt has words, pictures and documents, and no parts of a provider's own");
}

#[tokio::test]
async fn what_is_no_prompt_is_refused_and_leaves_no_trace() {
    let (mut session, _, asked) = begin().await;
    let foreign = Part::Opaque { wire: "anthropic".to_owned(), json: "{}".to_owned() };
    for parts in [vec![], vec![Part::text("see"), foreign]] {
        let refused = session.prompt(parts, &Cancel::new()).await.unwrap_err();
        assert!(matches!(refused, RuntimeError::Refused { .. }));
    }
    assert_eq!((session.tree().len(), asked.lock().unwrap().len()), (1, 0));
    // A picture alone is one.
    let parts = vec![Part::Image(media("image/gif"))];
    let stop = session.prompt(parts, &Cancel::new()).await.unwrap();
    assert!(matches!(stop, Stop::Decided(_)));
}
