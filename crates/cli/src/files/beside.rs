//! Fields that the messages of a file have besides what they say: told to whoever judges, and left out where they must go.

use trunkline_sanitize::{FieldFact, FieldHolder, Repair, RepairKind};
use trunkline_transcripts::{self as transcripts, MessageField, Transcript};

/// Returns what a request in the format of the file would have.
pub(crate) fn fields(transcript: &Transcript) -> Vec<FieldFact> {
    let told = |field: MessageField| {
        let holder = match field.holder {
            transcripts::FieldHolder::Message => FieldHolder::Message,
            transcripts::FieldHolder::Part(kind) => FieldHolder::Part(kind),
            transcripts::FieldHolder::Call => FieldHolder::Call,
            transcripts::FieldHolder::Function => FieldHolder::Function,
            _ => return None,
        };
        Some(FieldFact::new(field.node, holder, field.name, field.says_something))
    };
    transcript.message_fields().into_iter().filter_map(told).collect()
}

/// Returns the fields that must go.
pub(crate) fn left_out(transcript: &Transcript, repairs: &[Repair]) -> Vec<MessageField> {
    let is_meant = |field: &MessageField, repair: &Repair| match &repair.kind {
        RepairKind::FieldDropped { holder, field: name, .. } => {
            let same_holder = match (holder, &field.holder) {
                (FieldHolder::Message, transcripts::FieldHolder::Message)
                | (FieldHolder::Call, transcripts::FieldHolder::Call)
                | (FieldHolder::Function, transcripts::FieldHolder::Function) => true,
                (FieldHolder::Part(one), transcripts::FieldHolder::Part(other)) => one == other,
                _ => false,
            };
            same_holder && repair.at.node == Some(field.node) && *name == field.name
        }
        _ => false,
    };
    let dropped: Vec<&Repair> =
        repairs.iter().filter(|repair| matches!(repair.kind, RepairKind::FieldDropped { .. })).collect();
    if dropped.is_empty() {
        return Vec::new();
    }
    // Both come in the order of the messages.
    let mut fields = transcript.message_fields();
    let (mut from, mut kept) = (0, Vec::with_capacity(dropped.len()));
    for field in fields.drain(..) {
        while dropped.get(from).is_some_and(|repair| repair.at.node < Some(field.node)) {
            from += 1;
        }
        let here = dropped.iter().skip(from).take_while(|repair| repair.at.node == Some(field.node));
        if here.into_iter().any(|repair| is_meant(&field, repair)) {
            kept.push(field);
        }
    }
    kept
}
