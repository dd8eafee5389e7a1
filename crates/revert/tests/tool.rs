//! What a model is told of the tool.

use trunkline_revert::{TOOL_DESCRIPTION, TOOL_LABEL, TOOL_NAME, tool_spec};

#[test]
fn the_tool_has_the_names_that_agents_know() {
    assert_eq!((TOOL_NAME, TOOL_LABEL), ("revert_to_state", "Revert to State"));
    assert_eq!(tool_spec().name, TOOL_NAME);
}

#[test]
fn the_schema_asks_for_category_and_step() {
    let schema = tool_spec().input_schema;
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], serde_json::json!(["category", "step"]));
    assert_eq!(
        schema["properties"]["category"]["enum"],
        serde_json::json!(["failure", "tangent", "completion", "step-summary"])
    );
}

#[test]
fn the_description_teaches_the_tree_and_the_way_forward_within_the_limit() {
    for taught in ["tree", "[n12]", "last node to KEEP", "forward", "not restored", "between turns"] {
        assert!(TOOL_DESCRIPTION.contains(taught), "{taught}");
    }
    assert!(TOOL_DESCRIPTION.chars().count() <= 1_024, "{}", TOOL_DESCRIPTION.chars().count());
}
