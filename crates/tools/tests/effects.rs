//! What the tools say that a call does.

use std::fmt::Write as _;

use expect_test::expect;
use serde_json::{Value, json};

use crate::scene::Scene;

#[test]
fn every_tool_says_what_a_call_of_it_does() {
    let scene = Scene::new();
    let calls = [
        ("read_file", json!({ "path": "a.rs" })),
        ("list_files", json!({ "path": "src", "pattern": "*.rs" })),
        ("list_files", json!({})),
        ("search_text", json!({ "pattern": "x" })),
        ("edit_file", json!({ "path": "a.rs", "old_text": "x", "new_text": "y" })),
        (
            "edit_files",
            json!({ "edits": [
                { "path": "a.rs", "old_text": "x", "new_text": "y" },
                { "path": "b.rs", "content": "" },
                { "path": "a.rs", "old_text": "z", "new_text": "" },
            ] }),
        ),
        ("edit_files", json!({ "edits": [7, { "path": 7 }] })),
        ("write_file", json!({ "path": "b.rs", "content": "" })),
        ("move_file", json!({ "from": "a.rs", "to": "b.rs" })),
        ("delete_file", json!({ "path": "a.rs" })),
        ("run_command", json!({ "command": "make clean", "timeout_seconds": 5 })),
        // Asked of old calls too, whatever they hold.
        ("write_file", json!({ "path": 7 })),
        ("run_command", json!({})),
    ];
    let mut told = String::new();
    for (tool, arguments) in calls {
        let Value::Object(arguments) = arguments else { continue };
        let effects = scene.tool(tool).effects(&arguments);
        writeln!(told, "{tool} {}", serde_json::to_string(&effects).unwrap()).unwrap();
    }
    expect![[r#"
        read_file {"reads":["a.rs"],"writes":[],"runs":null,"class":"pure"}
        list_files {"reads":["src"],"writes":[],"runs":null,"class":"pure"}
        list_files {"reads":[],"writes":[],"runs":null,"class":"pure"}
        search_text {"reads":[],"writes":[],"runs":null,"class":"pure"}
        edit_file {"reads":["a.rs"],"writes":["a.rs"],"runs":null,"class":"reversible"}
        edit_files {"reads":["a.rs"],"writes":["a.rs","b.rs"],"runs":null,"class":"reversible"}
        edit_files {"reads":[],"writes":[],"runs":null,"class":"reversible"}
        write_file {"reads":[],"writes":["b.rs"],"runs":null,"class":"reversible"}
        move_file {"reads":[],"writes":["a.rs","b.rs"],"runs":null,"class":"reversible"}
        delete_file {"reads":[],"writes":["a.rs"],"runs":null,"class":"reversible"}
        run_command {"reads":[],"writes":[],"runs":"make clean","class":"unknown"}
        write_file {"reads":[],"writes":[],"runs":null,"class":"reversible"}
        run_command {"reads":[],"writes":[],"runs":null,"class":"unknown"}
    "#]]
    .assert_eq(&told);
}
