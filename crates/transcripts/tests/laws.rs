//! What is written is read as it was.

use proptest::prelude::*;
use trunkline_message_tree::{
    Author, Content, Media, MediaSource, Message, Origin, Part, Role, StopReason, Timestamp, ToolCall,
    ToolResult,
};
use trunkline_transcripts::{Format, Heading, export, read_as};

use crate::show::main;

fn words() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{1,8}", Just("\"\\\u{1f600}\n\u{0}".to_owned()), Just(" ".to_owned())]
}

fn media() -> impl Strategy<Value = Media> {
    Just(Media { media_type: "image/png".to_owned(), source: MediaSource::Base64("AA==".to_owned()) })
}

fn id() -> impl Strategy<Value = String> {
    "[ab]".prop_map(|id| id)
}

fn answer() -> impl Strategy<Value = Content> {
    let part = prop_oneof![words().prop_map(Part::text), media().prop_map(Part::Image)];
    (id(), prop::collection::vec(part, 0..3), any::<bool>()).prop_map(|(call_id, content, is_error)| {
        Content::ToolResult(ToolResult { call_id, content, is_error })
    })
}

fn said() -> impl Strategy<Value = Content> {
    prop_oneof![words().prop_map(Content::text), media().prop_map(Content::Image)]
}

fn written() -> impl Strategy<Value = Content> {
    let arguments = prop::sample::select(vec!["{}", "{\"a\": [1,  2]}", "{\"b\":{\"c\":null}}"]);
    prop_oneof![
        words().prop_map(Content::text),
        (words(), prop::option::of("[a-z]{3}"))
            .prop_map(|(text, signature)| Content::Thinking { text, signature }),
        (id(), arguments).prop_map(|(id, arguments)| Content::ToolCall(ToolCall {
            id,
            name: "read".to_owned(),
            arguments: arguments.to_owned(),
            signature: None
        })),
        Just(Content::Opaque { wire: "anthropic".to_owned(), json: "{\"type\": \"new\"}".to_owned() }),
        Just(Content::RedactedThinking { data: "zz".to_owned() }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let origin = || Some(Origin::new("anthropic", "claude-x"));
    prop_oneof![
        prop::collection::vec(said(), 1..4).prop_map(|content| Message::new(
            Role::User,
            Author::Person,
            content
        )),
        prop::collection::vec(answer(), 1..4).prop_map(|content| Message::new(
            Role::User,
            Author::Tool,
            content
        )),
        answer().prop_map(|content| Message::new(Role::Tool, Author::Tool, vec![content])),
        (prop::collection::vec(written(), 1..5), any::<bool>()).prop_map(move |(content, by_model)| {
            Message {
                origin: origin().filter(|_| by_model),
                stop: Some(StopReason::EndTurn).filter(|_| by_model),
                ..Message::new(Role::Assistant, Author::Model, content)
            }
        }),
    ]
}

fn messages() -> impl Strategy<Value = Vec<Message>> {
    prop::collection::vec(message(), 1..10)
}

fn heading() -> Heading {
    Heading { id: "s1".to_owned(), cwd: "/p".to_owned(), title: String::new(), started: Timestamp(0) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_list_that_was_not_changed_is_written_byte_for_byte(messages in messages(), openai in any::<bool>()) {
        let format = if openai { Format::OpenAiChat } else { Format::Anthropic };
        let written = export(&messages, format, &heading());
        let transcript = read_as(&written.bytes, format).expect("of that format");
        let again = transcript.write(0, &main(&transcript).messages, "").expect("it is there");
        prop_assert_eq!(again.bytes, written.bytes);
    }

    #[test]
    fn a_list_written_from_what_was_read_reads_the_same(messages in messages(), openai in any::<bool>(), turn in 0..9usize) {
        let format = if openai { Format::OpenAiChat } else { Format::Anthropic };
        let written = export(&messages, format, &heading());
        let transcript = read_as(&written.bytes, format).expect("of that format");
        let mut changed = main(&transcript).messages;
        let count = changed.len();
        changed.rotate_left(turn % count.max(1));
        let again = transcript.write(0, &changed, "").expect("it is there");
        let again = read_as(&again.bytes, format).expect("of that format");
        let said = |messages: &[Message]| messages.iter().map(|message| message.content.clone()).collect::<Vec<_>>();
        prop_assert_eq!(said(&main(&again).messages), said(&changed));
    }

    #[test]
    fn a_session_that_was_not_changed_reads_the_same(messages in messages()) {
        let written = export(&messages, Format::ClaudeCode, &heading());
        let transcript = read_as(&written.bytes, Format::ClaudeCode).expect("a session");
        let read = &main(&transcript).messages;
        let again = transcript.write(0, read, "s2").expect("it is there");
        prop_assert_eq!(&again.losses, &[]);
        let again = read_as(&again.bytes, Format::ClaudeCode).expect("a session");
        prop_assert_eq!(&main(&again).messages, read);
        prop_assert_eq!(again.listed().len(), 1);
        prop_assert_eq!(&again.faults, &[]);
    }

    #[test]
    fn nothing_that_was_said_is_lost_on_the_way_into_a_session(messages in messages()) {
        let written = export(&messages, Format::ClaudeCode, &heading());
        prop_assert_eq!(&written.losses, &[]);
        let transcript = read_as(&written.bytes, Format::ClaudeCode).expect("a session");
        let count = |messages: &[Message]| messages.iter().map(|message| message.content.len()).sum::<usize>();
        prop_assert_eq!(count(&main(&transcript).messages), count(&messages));
    }
}
