//! The stored form. A change here is a change of the format.

use expect_test::expect;
use trunkline_message_tree::notation::parse_tree;
use trunkline_message_tree::{Entry, NodeId};

#[test]
fn the_stored_form_of_every_kind_of_block() {
    let tree = parse_tree(
        r#"
        n0 system: s
        n1 user: look
          + image image/png base64 AAAA
        n2 assistant:
          + thinking sig: hm
          + redacted: ZZ
          + call c1 read_file {"path": "a.rs"}
          + server-call s1 {}
          + server-result s1 {}
          + opaque anthropic {}
          + origin anthropic m-1
          + stop other odd
        n3 * n2 result c1!: gone
        head n1 by model
        undo
        "#,
    )
    .unwrap();
    let lines: Vec<String> = tree.entries().map(|entry| serde_json::to_string(&entry).unwrap()).collect();
    expect![[r#"
        {"entry":"node","id":"n0","parent":null,"at":0,"message":{"node":"n0","role":"system","author":"harness","content":[{"type":"text","text":"s"}]}}
        {"entry":"node","id":"n1","parent":"n0","at":0,"message":{"node":"n1","role":"user","author":"person","content":[{"type":"text","text":"look"},{"type":"image","media_type":"image/png","source":{"base64":"AAAA"}}]}}
        {"entry":"node","id":"n2","parent":"n1","at":0,"message":{"node":"n2","role":"assistant","author":"model","content":[{"type":"thinking","text":"hm","signature":"sig"},{"type":"redacted_thinking","data":"ZZ"},{"type":"tool_call","id":"c1","name":"read_file","arguments":"{\"path\": \"a.rs\"}"},{"type":"server_call","id":"s1","json":"{}"},{"type":"server_result","call_id":"s1","json":"{}"},{"type":"opaque","wire":"anthropic","json":"{}"}],"origin":{"provider":"anthropic","model":"m-1"},"stop":{"other":"odd"}}}
        {"entry":"node","id":"n3","parent":"n2","at":0,"filed":true,"message":{"node":"n3","role":"tool","author":"tool","content":[{"type":"tool_result","call_id":"c1","content":[{"type":"text","text":"gone"}],"is_error":true}]}}
        {"entry":"move","from":"n2","to":"n1","kind":"model_revert","at":0}
        {"entry":"move","from":"n1","to":"n2","kind":{"undo":{"of":0}},"at":0}"#]]
    .assert_eq(&lines.join("\n"));
    let read: Vec<Entry> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, tree.entries().collect::<Vec<_>>());
}

#[test]
fn a_stored_id_has_one_spelling() {
    assert!(serde_json::from_str::<NodeId>("\"n12\"").is_ok());
    for other in ["12", "\"12\"", "\"N12\"", "\"n012\"", "\"[n12]\"", "null"] {
        assert!(serde_json::from_str::<NodeId>(other).is_err(), "{other}");
    }
}
