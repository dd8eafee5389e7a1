use trunkline_transcripts::Format;

#[test]
fn a_format_is_read_by_the_name_that_it_prints() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(*format));
    }
    let unknown = "cobol".parse::<Format>().expect_err("there is none");
    assert_eq!(
        unknown.to_string(),
        "no format is called \"cobol\"; there are claude-code, codex, pi, opencode, gemini-cli, anthropic and openai-chat"
    );
}
