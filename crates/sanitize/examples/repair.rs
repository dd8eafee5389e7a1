//! Repairs one damaged conversation for two wires and prints the account.
//!
//! Run it with `cargo run -p trunkline-sanitize --example repair`.

#![expect(clippy::print_stdout, reason = "an example speaks to people")]

use trunkline_message_tree::notation::{self, NotationError};
use trunkline_sanitize::{CallFact, Fate, RequestFacts, WireRules, sanitize, violations};

/// A session that was killed while a command ran, and went on: a call without a result, an id that its model used
/// twice, arguments that were cut, a result that came too late.
const DAMAGED: &str = r#"
    system: You mend tests.
    user: mend the parser
    assistant: Let me run the tests.
      + thinking: they said parser, so the tests come first
      + call call_0 run_command {"command":"cargo test"}
    user: are you still there?
    assistant: Yes. I write the fix now.
      + call call_0 write_file {"path":"src/parser.rs","text":"fn par
    result call_0!: the arguments are cut
    assistant: Once more, then.
    result call_0: test result: FAILED. 1 passed; 1 failed
"#;

fn main() -> Result<(), NotationError> {
    let messages = notation::parse(DAMAGED)?;
    let mut facts = RequestFacts::default();
    let mut fact = CallFact::new("call_0", Fate::StartedOutcomeUnknown);
    fact.position = Some(0);
    facts.calls.push(fact);

    for rules in [WireRules::anthropic(), WireRules::openai_chat()] {
        println!("=== {} would refuse it:", rules.name);
        for violation in violations(&messages, &rules, &facts) {
            println!("  {violation}");
        }
        let sanitized = sanitize(&messages, &rules, &facts);
        println!("\n=== and takes this:");
        print!("{}", notation::print(&sanitized.messages));
        let losses = sanitized.repairs.iter().filter(|repair| repair.is_loss()).count();
        println!("\n=== {} repairs, {losses} with a loss:", sanitized.repairs.len());
        for repair in &sanitized.repairs {
            println!("  {:<4}{}: {repair}", repair.row(), repair.at);
        }
        println!();
    }
    Ok(())
}
