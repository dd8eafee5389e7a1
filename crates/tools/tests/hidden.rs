//! What nobody can see is spelled out wherever somebody approves.

use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;
use trunkline_tools::spelled;

use crate::scene::Scene;

#[test]
fn what_is_not_drawn_is_spelled_out() {
    let text = "a\u{200b}b\u{2060}c\u{ad}d\u{3164}e\u{e0041}f\u{202e}g\u{feff}h\u{34f}i\u{ffa0}j\u{180e}k\u{61c}l\u{2063}m\u{1d173}n\
                \u{2028}o\u{fff9}p\u{e01f0}q\u{1b}r\u{85}s\rt\r\nu\tv";
    expect![[r"
        a\u{200b}b\u{2060}c\u{ad}d\u{3164}e\u{e0041}f\u{202e}g\u{feff}h\u{34f}i\u{ffa0}j\u{180e}k\u{61c}l\u{2063}m\u{1d173}n\u{2028}o\u{fff9}p\u{e01f0}q\u{1b}r\u{85}s\u{d}t<CR>
        u	v"]]
    .assert_eq(&spelled(text).replace("\r\n", "<CR>\n"));
}

#[test]
fn what_joins_emoji_and_scripts_stays() {
    for text in [
        "👩\u{200d}🔧 👨\u{200d}👩\u{200d}👧\u{200d}👦 👩🏽\u{200d}🔬 ❤\u{fe0f}\u{200d}🔥 🏳\u{fe0f}\u{200d}🌈",
        "⚠\u{fe0f} ☺\u{fe0e} 1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
        "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
        "می\u{200c}خواهم",
        "क\u{094d}\u{200d}ष ന\u{0d4d}\u{200d}",
        "葛\u{e0100} \u{2268}\u{fe00}",
        "ᠠ\u{180b}",
        "\u{1112}\u{1160}",
        "naïve Ω 漢字 العربية עברית",
    ] {
        assert_eq!(spelled(text), text);
    }
}

#[test]
fn a_joiner_where_nothing_is_joined_is_spelled_out() {
    let shown: String = [
        "rm\u{200d}x",
        "rm \u{200d}",
        "\u{200d}🔧",
        "👩\u{200d}x",
        "👩\u{200d}\u{200d}🔧",
        "a\u{fe0f}",
        "1\u{fe0f}",
        "❤\u{fe0f}\u{fe0f}",
        "❤\u{e0100}",
        "a\u{200c}b",
        "م\u{200c}b",
        "🏴\u{e0041}\u{e007f}",
        "🏴\u{e0067}\u{e0062}\u{e007f}",
        "👩\u{e0067}",
        "x\u{115f}y",
        "葛\u{e0100}\u{e0101}",
    ]
    .iter()
    .map(|text| format!("{}\n", spelled(text)))
    .collect();
    expect![[r"
        rm\u{200d}x
        rm \u{200d}
        \u{200d}🔧
        👩\u{200d}x
        👩\u{200d}\u{200d}🔧
        a\u{fe0f}
        1\u{fe0f}
        ❤️\u{fe0f}
        ❤\u{e0100}
        a\u{200c}b
        م\u{200c}b
        🏴\u{e0041}\u{e007f}
        🏴\u{e0067}\u{e0062}\u{e007f}
        👩\u{e0067}
        x\u{115f}y
        葛󠄀\u{e0101}
    "]]
    .assert_eq(&shown);
}

const HIDDEN: &str = "a\u{200b}\u{2060}\u{ad}\u{3164}\u{e003b}";
const SHOWN: &str = r"a\u{200b}\u{2060}\u{ad}\u{3164}\u{e003b}";

#[test]
fn commands_and_their_labels_are_spelled_out() {
    let gate = Scene::new().gate(json!({"command": format!("echo {HIDDEN}"), "cwd": HIDDEN}));
    assert_eq!(gate.label, format!("run: echo {SHOWN}"));
    assert!(gate.preview.starts_with(&format!("echo {SHOWN}\n")), "{}", gate.preview);
    assert!(gate.preview.contains(&format!("→ {SHOWN}\n")), "{}", gate.preview);
}

#[test]
fn names_and_diffs_of_every_tool_that_stages_are_spelled_out() {
    let scene = Scene::new();
    scene.write(HIDDEN, "old\n");
    for (tool, arguments) in [
        ("write_file", json!({"path": HIDDEN, "content": HIDDEN})),
        ("edit_file", json!({"path": HIDDEN, "old_text": "old", "new_text": HIDDEN})),
        (
            "edit_files",
            json!({"edits": [{"path": HIDDEN, "content": HIDDEN}, {"path": "b", "content": HIDDEN}]}),
        ),
    ] {
        let proposal = scene.stage(tool, arguments);
        let diff = proposal.preview.diff.clone().unwrap();
        assert!(proposal.label.contains(SHOWN) && diff.contains(&format!("+{SHOWN}")), "{tool}: {diff}");
        assert!(diff.contains(&format!("+++ b/{SHOWN}")), "{tool}: {diff}");
        for shown in [&proposal.label, &proposal.preview.text, &diff] {
            assert!(
                !shown.contains(['\u{200b}', '\u{2060}', '\u{ad}', '\u{3164}', '\u{e003b}']),
                "{tool}: {shown}"
            );
        }
        // The bytes themselves stay as they are.
        assert!(proposal.payload.to_string().contains('\u{200b}'));
    }
}

proptest! {
    #[test]
    fn spelling_is_done_once_and_loses_nothing(text in "[\u{0}-\u{2ff}\u{200a}-\u{2070}👩❤🔧\u{fe00}-\u{fe0f}\u{e0000}-\u{e01ff}\r\n]{0,24}") {
        let once = spelled(&text).into_owned();
        prop_assert_eq!(spelled(&once).into_owned(), once.clone());
        let mut back = once;
        for character in text.chars() {
            back = back.replace(&character.escape_unicode().to_string(), &character.to_string());
        }
        prop_assert_eq!(back, text);
    }
}
