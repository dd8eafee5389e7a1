//! What a model is told of the tool.

use trunkline_revert::{
    Prompts, TOOL_DESCRIPTION, TOOL_LABEL, TOOL_NAME, is_conversation_tool, merge_tool_spec,
    outline_tool_spec, outline_tool_spec_with_branches, prune_tool_spec, recall_tool_spec, return_tool_spec,
    tool_spec,
};

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

#[test]
fn what_a_model_may_do_with_its_branches_is_taught_within_the_limit() {
    let go = return_tool_spec(Prompts::Refuse);
    let specs = [
        merge_tool_spec(),
        go.clone(),
        prune_tool_spec(),
        recall_tool_spec(),
        outline_tool_spec_with_branches(),
    ];
    for spec in &specs {
        assert!(
            spec.description.chars().count() <= 1_024,
            "{}: {}",
            spec.name,
            spec.description.chars().count()
        );
        assert!(is_conversation_tool(&spec.name));
        let required = spec.input_schema["required"].as_array().cloned().unwrap_or_default();
        for name in required {
            assert!(
                !spec.input_schema["properties"][name.as_str().unwrap()].is_null(),
                "{}: {name}",
                spec.name
            );
        }
    }
    for taught in ["not yours", "to and fro", "stay as they are now", "cannot leave a message of the user"] {
        assert!(go.description.contains(taught), "{taught}");
    }
    assert!(return_tool_spec(Prompts::Leave).description.contains("leave with the rest"));
    assert!(outline_tool_spec_with_branches().description.starts_with(&outline_tool_spec().description));
    assert!(!is_conversation_tool("read_file"));
}
