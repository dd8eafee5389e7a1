//! The tree of a session for programs.

use serde_json::{Value, json};
use trunkline_message_tree::{Link, Node, NodeId};

use crate::reading::marks::Marks;
use crate::reading::session::Reading;
use crate::shown::{session, standing};
use crate::term::text::one_line;

/// Returns every node with its links, every move, and what stands beside them.
pub(crate) fn as_json(reading: &Reading) -> Value {
    let marks = Marks::of(reading);
    let nodes: Vec<Value> = reading
        .tree()
        .nodes()
        .map(|(id, node)| {
            let message = node.message();
            let mut shown = json!({
                "id": id,
                "parent": node.parent(),
                "at": node.at(),
                "on_trunk": reading.tree().is_on_trunk(id),
                "role": message.role,
                "author": message.author,
                "text": one_line(&message.text(), 200),
                "calls": message.calls().map(|call| call.name.as_str()).collect::<Vec<_>>(),
                "error": message.results().any(|result| result.is_error),
            });
            add_link(&mut shown, node.link());
            add_standings(&mut shown, reading, &marks, id);
            add_pruned(&mut shown, reading, id);
            shown
        })
        .collect();
    json!({
        "version": 1,
        "session": session::as_json(&reading.info),
        "head": reading.tree().head(),
        "nodes": nodes,
        "moves": reading.tree().moves(),
        "names": names_json(reading),
        "notes": reading.notes(),
        "merges": reading.merges(),
        "verdicts": verdicts_json(reading),
        "open_run": reading.open_run().is_some(),
    })
}

/// Says how a node hangs on its parent, in the fields of the store's own lines.
pub(crate) fn add_link(node: &mut Value, link: &Link) {
    match link {
        Link::Next => {}
        Link::Filed => node["filed"] = json!(true),
        Link::Merge { with } => node["merges"] = json!(with),
        Link::Cover { from } => node["covers"] = json!(from),
    }
}

/// Says of calls that no result follows how far each came.
pub(crate) fn add_standings(node: &mut Value, reading: &Reading, marks: &Marks<'_>, id: NodeId) {
    let standings = marks.standings(reading, id);
    if let Ok(message) = reading.tree().node(id).map(Node::message)
        && !standings.is_empty()
    {
        node["unanswered"] = standing::as_json(message.calls(), &standings);
    }
}

/// Says of a result that the model has left out of its requests where the head was then.
pub(crate) fn add_pruned(shown: &mut Value, reading: &Reading, id: NodeId) {
    if let Some(since) = reading.view().going_back().prunings.since(id) {
        shown["pruned_since"] = json!(since);
    }
}

/// Returns the verdicts in their own canonical form.
pub(crate) fn verdicts_json(reading: &Reading) -> Vec<Value> {
    let printed = reading.verdicts().iter().map(|(_, decision)| decision.print());
    printed.map(|text| serde_json::from_str(&text).unwrap_or(Value::String(text))).collect()
}

/// Returns the names for programs: with the node that each was given to, and where it leads now.
pub(crate) fn names_json(reading: &Reading) -> Value {
    let names = reading.names().all(reading.tree()).map(|(name, kind, leads_to)| {
        let given = reading.names().get(name.as_str()).map(|(_, node)| node);
        json!({ "name": name, "kind": kind, "node": given, "leads_to": leads_to })
    });
    names.collect()
}
