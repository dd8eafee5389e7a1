//! Laws of the tree and its text, on generated histories.

use proptest::prelude::*;
use trunkline_message_tree::notation;
use trunkline_message_tree::{
    Author, BareNode, Content, Entry, HeadMove, LandingError, Link, Media, MediaSource, Message, MessageTree,
    MoveKind, NodeId, Origin, Part, Role, StopReason, Timestamp, ToolCall, ToolResult, TrunkItem,
};

#[derive(Clone, Debug)]
enum Act {
    Append(Message),
    File(usize, Message),
    Merge(Vec<usize>, Message),
    Cover(usize, usize, Message),
    Revert(usize, MoveKind),
    Undo,
    Redo,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z:!+ ]{0,8}", "\\PC{0,6}", any::<String>()]
}

fn media() -> impl Strategy<Value = Media> {
    (text(), any::<bool>(), text()).prop_map(|(media_type, here, data)| Media {
        media_type,
        source: if here { MediaSource::Base64(data) } else { MediaSource::Url(data) },
    })
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        text().prop_map(Part::text),
        media().prop_map(Part::Image),
        media().prop_map(Part::Document),
        (text(), text()).prop_map(|(wire, json)| Part::Opaque { wire, json })
    ]
}

fn block() -> impl Strategy<Value = Content> {
    let result = (text(), prop::collection::vec(part(), 0..3), any::<bool>()).prop_map(
        |(call_id, content, is_error)| Content::ToolResult(ToolResult { call_id, content, is_error }),
    );
    let call =
        (text(), text(), text(), prop::option::of(text())).prop_map(|(id, name, arguments, signature)| {
            Content::ToolCall(ToolCall { id, name, arguments, signature })
        });
    prop_oneof![
        text().prop_map(Content::text),
        (text(), prop::option::of(text()))
            .prop_map(|(text, signature)| Content::Thinking { text, signature }),
        text().prop_map(|data| Content::RedactedThinking { data }),
        media().prop_map(Content::Image),
        media().prop_map(Content::Document),
        call,
        result,
        (text(), text()).prop_map(|(id, json)| Content::ServerCall { id, json }),
        (text(), text()).prop_map(|(call_id, json)| Content::ServerResult { call_id, json }),
        (text(), text()).prop_map(|(wire, json)| Content::Opaque { wire, json }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![Just(Role::System), Just(Role::User), Just(Role::Assistant), Just(Role::Tool)];
    let author =
        prop_oneof![Just(Author::Person), Just(Author::Model), Just(Author::Tool), Just(Author::Harness)];
    let origin = (text(), text(), prop::option::of(text())).prop_map(|(provider, model, address)| {
        let origin = Origin::new(provider, model);
        match address {
            Some(address) => origin.at(address),
            None => origin,
        }
    });
    let origin = prop::option::of(origin);
    let stop = prop::option::of(prop_oneof![
        Just(StopReason::EndTurn),
        Just(StopReason::Cancelled),
        text().prop_map(StopReason::Other)
    ]);
    (role, author, prop::collection::vec(block(), 0..4), origin, stop).prop_map(
        |(role, author, content, origin, stop)| {
            let mut message = Message::new(role, author, content);
            message.origin = origin;
            message.stop = stop;
            message
        },
    )
}

fn kind() -> impl Strategy<Value = MoveKind> {
    prop_oneof![
        Just(MoveKind::ModelRevert),
        Just(MoveKind::PersonRevert),
        Just(MoveKind::Fork),
        Just(MoveKind::Import),
        Just(MoveKind::Merge)
    ]
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => message().prop_map(Act::Append),
        1 => (any::<usize>(), message()).prop_map(|(at, message)| Act::File(at, message)),
        1 => (prop::collection::vec(any::<usize>(), 1..4), message()).prop_map(|(with, message)| Act::Merge(with, message)),
        1 => (any::<usize>(), any::<usize>(), message()).prop_map(|(from, to, message)| Act::Cover(from, to, message)),
        2 => (any::<usize>(), kind()).prop_map(|(to, kind)| Act::Revert(to, kind)),
        1 => Just(Act::Undo),
        1 => Just(Act::Redo),
    ];
    prop::collection::vec(act, 0..24)
}

fn step(tree: &mut MessageTree, act: Act, at: Timestamp) {
    let some_node = |tree: &MessageTree, pick: usize| NodeId::new((pick % tree.len()) as u32);
    let mut draft = tree.draft();
    match act {
        Act::Append(message) => _ = draft.append(message, at).expect("the act fits the tree"),
        Act::File(pick, message) => {
            _ = draft.file(some_node(tree, pick), message, at).expect("the act fits the tree");
        }
        Act::Merge(picks, message) => {
            let mut with: Vec<NodeId> = picks.into_iter().map(|pick| some_node(tree, pick)).collect();
            with.sort_unstable();
            with.dedup();
            with.retain(|node| !tree.is_on_trunk(*node));
            if !with.is_empty() {
                draft.merge(with, message, at).expect("the act fits the tree");
            }
        }
        Act::Cover(from, to, message) => {
            let to = some_node(tree, to);
            let line: Vec<NodeId> = tree.ancestry(to).expect("it is a node").map(|(id, _)| id).collect();
            let from = line[from % line.len()];
            if from != NodeId::ROOT {
                draft.cover(from, to, message, at).expect("the act fits the tree");
            }
        }
        Act::Revert(pick, kind) => {
            let to = some_node(tree, pick);
            draft.move_head(HeadMove { from: tree.head(), to, kind, at }).expect("the act fits the tree");
        }
        Act::Undo => tree
            .plan_undo(at)
            .into_iter()
            .for_each(|undo| draft.move_head(undo).expect("the act fits the tree")),
        Act::Redo => tree
            .plan_redo(at)
            .into_iter()
            .for_each(|redo| draft.move_head(redo).expect("the act fits the tree")),
    }
    let entries = draft.into_entries();
    for entry in entries {
        tree.record(entry).expect("the act fits the tree");
    }
}

proptest! {
    #[test]
    fn printing_and_parsing_messages_are_inverse(messages in prop::collection::vec(message(), 0..6)) {
        let printed = notation::print(&messages);
        let again = notation::parse(&printed);
        prop_assert_eq!(again.as_ref(), Ok(&messages), "{}", printed);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>(), lines in prop::collection::vec("(n[0-9] |head |[+]{1,2} )?[a-z+!:\" {}\\\\]{0,20}", 0..8)) {
        let _ = notation::parse(&text);
        let _ = notation::parse_tree(&text);
        let _ = notation::parse(&lines.join("\n"));
        let _ = notation::parse_tree(&lines.join("\n"));
    }

    #[test]
    fn nothing_is_lost_and_the_trunk_is_the_path_to_the_head(acts in acts()) {
        let mut tree = MessageTree::new(Message::system("s"), Timestamp(0));
        let mut seen: Vec<(NodeId, Message)> = Vec::new();
        for (time, act) in acts.into_iter().enumerate() {
            step(&mut tree, act, Timestamp(time as u64));
            for (id, message) in &seen {
                prop_assert_eq!(tree.node(*id).unwrap().message(), message);
            }
            seen = tree.nodes().map(|(id, node)| (id, node.message().clone())).collect();
            let mut path: Vec<NodeId> = tree.ancestry(tree.head()).unwrap().map(|(id, _)| id).collect();
            path.reverse();
            prop_assert_eq!(tree.trunk().ids(), path);
            for (id, _) in tree.nodes() {
                prop_assert_eq!(tree.is_on_trunk(id), tree.trunk().ids().contains(&id));
            }
        }
    }

    #[test]
    fn undo_restores_the_trunk_and_redo_what_was_before_it(acts in acts(), target in any::<usize>(), kind in kind()) {
        let mut tree = MessageTree::new(Message::system("s"), Timestamp(0));
        for act in acts {
            step(&mut tree, act, Timestamp(0));
        }
        let before = tree.trunk().ids().to_vec();
        step(&mut tree, Act::Revert(target, kind), Timestamp(0));
        let after = tree.trunk().ids().to_vec();
        step(&mut tree, Act::Undo, Timestamp(0));
        prop_assert_eq!(tree.trunk().ids(), &before[..]);
        step(&mut tree, Act::Redo, Timestamp(0));
        prop_assert_eq!(tree.trunk().ids(), &after[..]);
    }

    /// Where a head comes to stand it stays, never on open calls that it did not stand on, and so is where it is sent instead.
    #[test]
    fn a_head_comes_to_stand_where_it_may_stand(acts in acts()) {
        let mut tree = MessageTree::new(Message::system("s"), Timestamp(0));
        for act in acts {
            step(&mut tree, act, Timestamp(0));
        }
        for (id, _) in tree.nodes() {
            match tree.landing(id) {
                Ok(end) => {
                    let node = tree.node(end).unwrap();
                    let calls = node.message().role == Role::Assistant && node.message().calls().next().is_some();
                    prop_assert!(end == tree.head() || !calls);
                    prop_assert!(!node.is_filed());
                    prop_assert!(tree.ancestry(end).unwrap().any(|(above, _)| above == id));
                    prop_assert_eq!(tree.landing(end), Ok(end));
                }
                Err(LandingError::Filed { nearest, .. } | LandingError::Covers { nearest, .. } | LandingError::OpenCalls { nearest, .. }) => {
                    let mut above = tree.ancestry(id).unwrap().skip(1).map(|(above, _)| above);
                    prop_assert_eq!(nearest, above.find(|above| tree.landing(*above).is_ok()));
                }
                Err(error) => prop_assert!(false, "{}", error),
            }
        }
    }

    /// Against the plain reading of the rule: each step of the trunk is shown once, alone or by the newest node that stands
    /// for a span of the trunk that the head has passed, of which no node was gone to since, and that is in no wider one.
    #[test]
    fn the_trunk_reads_as_its_nodes_and_what_stands_for_them(acts in acts()) {
        let mut tree = MessageTree::new(Message::system("s"), Timestamp(0));
        for act in acts {
            step(&mut tree, act, Timestamp(0));
        }
        let trunk = tree.trunk().ids();
        let mut stand = Vec::new();
        for (id, node) in tree.nodes().rev() {
            let Link::Cover { from } = node.link() else { continue };
            let place = |wanted: &NodeId| trunk.iter().position(|id| id == wanted);
            let (Some(first), Some(last)) = (place(from), place(&node.parent().unwrap())) else { continue };
            let lifting = tree.reflog().find(|made| {
                let goes = matches!(made.head_move.kind, MoveKind::ModelRevert | MoveKind::PersonRevert | MoveKind::Fork);
                goes && made.in_force && made.newest >= id && trunk[first..=last].contains(&made.head_move.to)
            });
            prop_assert_eq!(tree.lifted_by(id), lifting.map(|made| made.id));
            if tree.lifted_by(id).is_some() {
                continue;
            }
            if trunk.get(last + 1).is_some_and(|next| *next != id) {
                stand.push((first, last, id));
            }
        }
        let mut by: Vec<Option<NodeId>> = vec![None; trunk.len()];
        for (first, last, id) in &stand {
            let (first, last) = (*first, *last);
            let wider = |(from, to, _): &(usize, usize, NodeId)| {
                *from <= first && last <= *to && (*from, *to) != (first, last)
            };
            if !stand.iter().any(wider) && by[first..=last].iter().all(Option::is_none) {
                by[first..=last].fill(Some(*id));
            }
        }
        let mut expected: Vec<NodeId> = trunk.iter().zip(by).map(|(id, by)| by.unwrap_or(*id)).collect();
        expected.dedup();
        let shown: Vec<NodeId> = tree.trunk().items().map(TrunkItem::id).collect();
        prop_assert_eq!(&shown, &expected);
        let mut backwards: Vec<NodeId> = tree.trunk().items().rev().map(TrunkItem::id).collect();
        backwards.reverse();
        prop_assert_eq!(&backwards, &expected);
        // From both ends in turn, each is given once.
        let mut items = tree.trunk().items();
        let (mut front, mut back) = (Vec::new(), Vec::new());
        while let Some(item) = items.next() {
            front.push(item.id());
            back.extend(items.next_back().map(TrunkItem::id));
        }
        front.extend(back.into_iter().rev());
        prop_assert_eq!(front, expected);
        let wrote = tree.nodes().filter(|(_, node)| node.message().role == Role::Assistant && !node.is_filed());
        prop_assert_eq!(tree.replies() as usize, wrote.count());
    }

    #[test]
    fn a_line_ends_where_the_head_last_was_on_it(acts in acts(), pick in any::<usize>()) {
        let mut tree = MessageTree::new(Message::system("s"), Timestamp(0));
        let mut heads = vec![NodeId::ROOT];
        for act in acts {
            step(&mut tree, act, Timestamp(0));
            heads.push(tree.head());
        }
        let node = NodeId::new((pick % tree.len()) as u32);
        let goes_through = |head: &&NodeId| tree.ancestry(**head).unwrap().any(|(id, _)| id == node);
        let expected = heads.iter().rev().find(goes_through).copied().unwrap_or(node);
        prop_assert_eq!(tree.tip(node), expected);
    }

    #[test]
    fn the_reflog_tells_what_is_in_force(acts in acts()) {
        let mut tree = MessageTree::new(Message::system("s"), Timestamp(0));
        for act in acts {
            step(&mut tree, act, Timestamp(0));
        }
        prop_assert_eq!(tree.reflog().len(), tree.moves().len());
        for entry in tree.reflog() {
            let takes_back = matches!(entry.head_move.kind, MoveKind::Undo { .. } | MoveKind::Redo { .. });
            prop_assert_eq!(entry.in_force, takes_back || tree.is_in_force(entry.id));
            prop_assert!(entry.head_move.from <= entry.newest && entry.head_move.to <= entry.newest);
        }
    }

    /// What is left out is the message and nothing else: wherever the head goes later, all that needs no words is the same.
    #[test]
    fn a_tree_whose_branches_are_bare_has_the_shape_of_the_whole(acts in acts(), more in acts()) {
        let mut tree = MessageTree::new(Message::system("s"), Timestamp(0));
        for (time, act) in acts.into_iter().enumerate() {
            step(&mut tree, act, Timestamp(time as u64));
        }
        let mut entries = tree.entries();
        let Some(Entry::Node { message, at, .. }) = entries.next() else { panic!("a tree has its root") };
        let mut bare = MessageTree::new(message, at);
        for entry in entries {
            match entry {
                Entry::Node { id, parent: Some(parent), at, link, message } if !tree.is_on_trunk(id) => {
                    let (role, author) = (message.role, message.author);
                    bare.record_bare(BareNode { id, parent, at, link, role, author }).unwrap();
                }
                entry => bare.record(entry).unwrap(),
            }
        }
        for act in std::iter::once(None).chain(more.into_iter().map(Some)) {
            if let Some(act) = act {
                step(&mut tree, act.clone(), Timestamp(99));
                step(&mut bare, act, Timestamp(99));
            }
            prop_assert_eq!(bare.trunk().ids(), tree.trunk().ids());
            prop_assert_eq!(bare.moves(), tree.moves());
            prop_assert_eq!((bare.epoch(), bare.beside()), (tree.epoch(), tree.beside()));
            prop_assert_eq!(bare.plan_undo(Timestamp(0)), tree.plan_undo(Timestamp(0)));
            prop_assert_eq!(bare.trunk().covers(), tree.trunk().covers());
            for ((id, one), (_, other)) in bare.nodes().zip(tree.nodes()) {
                prop_assert_eq!((one.parent(), one.depth(), one.at()), (other.parent(), other.depth(), other.at()));
                prop_assert_eq!((one.link(), bare.tip(id)), (other.link(), tree.tip(id)));
                let (short, full) = (one.message(), other.message());
                prop_assert_eq!((short.role, short.author), (full.role, full.author));
                prop_assert_eq!(!one.is_bare(), short == full);
                prop_assert!(!one.is_bare() || short.content.is_empty());
            }
        }
        for (id, node) in tree.nodes() {
            bare.fill(id, node.message().clone()).unwrap();
            // A message that is there stays.
            bare.fill(id, Message::system("something else")).unwrap();
        }
        prop_assert_eq!(bare.entries().collect::<Vec<_>>(), tree.entries().collect::<Vec<_>>());
        let missing = NodeId::new(tree.len() as u32);
        prop_assert!(bare.fill(missing, Message::system("s")).is_err());
    }

    #[test]
    fn replay_of_everything_that_happened_gives_the_same_tree(acts in acts()) {
        let mut tree = MessageTree::new(Message::system("s"), Timestamp(0));
        for (time, act) in acts.into_iter().enumerate() {
            step(&mut tree, act, Timestamp(time as u64));
        }
        let entries: Vec<Entry> = tree.entries().collect();
        let stored: Vec<Entry> = entries
            .iter()
            .map(|entry| serde_json::from_str(&serde_json::to_string(entry).unwrap()).unwrap())
            .collect();
        prop_assert_eq!(&stored, &entries);
        let again = MessageTree::replay(stored).unwrap();
        prop_assert_eq!(again.entries().collect::<Vec<_>>(), entries);
        prop_assert_eq!(again.trunk().ids(), tree.trunk().ids());
        prop_assert_eq!(again.plan_undo(Timestamp(0)), tree.plan_undo(Timestamp(0)));
        prop_assert_eq!(again.plan_redo(Timestamp(0)), tree.plan_redo(Timestamp(0)));
        prop_assert_eq!(again.epoch(), tree.epoch());
    }
}
