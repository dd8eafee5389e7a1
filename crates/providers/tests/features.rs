//! The README says what the wires say that they do; that they do it, the conformance kit checks.

use trunkline_providers::{Feature, Support, Wire};

use crate::every_wire::wires;

fn cell(wire: &dyn Wire, feature: Feature) -> String {
    match wire.support(feature) {
        Support::Native => "yes".to_owned(),
        Support::Near(what) => what.to_owned(),
        Support::None => "–".to_owned(),
        other => format!("{other:?}"),
    }
}

/// One column a wire; what the dialects of Chat differ in is told below the table.
fn table() -> String {
    let wires = wires();
    let columns: Vec<_> = wires.iter().filter(|(name, _)| !name.contains(':')).collect();
    let mut table = "| |".to_owned();
    columns.iter().for_each(|(name, _)| table.push_str(&format!(" {name} |")));
    table.push_str("\n|---|");
    columns.iter().for_each(|_| table.push_str("---|"));
    for feature in Feature::ALL {
        table.push_str(&format!("\n| {} |", feature.name()));
        columns.iter().for_each(|(_, wire)| table.push_str(&format!(" {} |", cell(&**wire, feature))));
    }
    table.push('\n');
    let chat = wires.iter().find(|(name, _)| *name == "Chat").map(|(_, wire)| wire).expect("it is there");
    for (name, wire) in wires.iter().filter(|(name, _)| name.starts_with("Chat: ")) {
        let differs =
            Feature::ALL.into_iter().filter(|feature| wire.support(*feature) != chat.support(*feature));
        let differs: Vec<String> =
            differs.map(|feature| format!("{} ({})", feature.name(), cell(&**wire, feature))).collect();
        table.push_str(&format!("\n- {name} differs from Chat in: {}.", differs.join(", ")));
    }
    table
}

/// `UPDATE_EXPECT=1` writes it, as for all other expectations.
#[test]
fn the_readme_has_the_table_that_the_code_gives() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(path).expect("the README is there");
    let (before, rest) = readme.split_once("<!-- features -->\n").expect("the table begins");
    let (shown, after) = rest.split_once("\n<!-- /features -->").expect("the table ends");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let fresh = format!("{before}<!-- features -->\n{}\n<!-- /features -->{after}", table());
        std::fs::write(path, fresh).expect("the README can be written");
    } else {
        assert_eq!(shown, table(), "UPDATE_EXPECT=1 writes the table anew");
    }
}
