//! Damaged histories, sanitized for a wire, are what an independent reading of that wire accepts.
//!
//! For the wires that can be encoded it is the body of the request that is read, for the others the list.

mod generate;

use proptest::prelude::*;
use trunkline_message_tree::notation;
use trunkline_sanitize::{RequestFacts, WireRules, sanitize};

use crate::services;
use generate::{Case, case};

/// How many lists each wire gets; `PROPTEST_CASES` says otherwise.
const CASES: u32 = 2000;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(CASES) })]

    #[test]
    fn damaged_lists_become_legal_for_anthropic(case in case("anthropic")) {
        check(&case, &["anthropic", "anthropic-strict", "anthropic-prefill", "anthropic-mid-system"])?;
    }

    #[test]
    fn damaged_lists_become_legal_for_openai_chat_and_its_dialects(case in case("openai-chat")) {
        check(&case, &["openai-chat", "openrouter", "groq", "cerebras", "deepseek"])?;
        check(&case, &["mistral", "mistral-strict", "vllm", "llama-cpp", "strict-template"])?;
    }

    #[test]
    fn damaged_lists_become_legal_for_openai_responses(case in case("openai-responses")) {
        check(&case, &["openai-responses"])?;
    }

    #[test]
    fn damaged_lists_become_legal_for_gemini(case in case("gemini")) {
        check(&case, &["gemini-2", "gemini-3"])?;
    }

    #[test]
    fn damaged_lists_become_legal_for_bedrock(case in case("bedrock")) {
        check(&case, &["bedrock", "bedrock-claude"])?;
    }

    #[test]
    fn damaged_lists_become_legal_for_ollama(case in case("ollama")) {
        check(&case, &["ollama"])?;
    }
}

/// One that was found: it was written as a message with an empty list of parts.
#[test]
fn instructions_that_say_nothing_beside_others_are_not_sent() {
    let messages = notation::parse("system:\nsystem: be brief").expect("notation");
    let case = Case { messages, facts: RequestFacts::default() };
    check(&case, WireRules::NAMES).unwrap_or_else(|fault| panic!("{fault}"));
}

fn check(case: &Case, names: &[&str]) -> Result<(), TestCaseError> {
    for name in names {
        let rules =
            WireRules::named(name).ok_or_else(|| TestCaseError::fail(format!("no rules named {name}")))?;
        let sanitized = sanitize(case.messages.as_slice(), &rules, &case.facts);
        let verdict = services::answer(name, &sanitized.messages, &sanitized.facts(&case.facts));
        if let Err(answer) = verdict {
            let repairs: Vec<String> =
                sanitized.repairs.iter().map(|repair| format!("  * {repair}\n")).collect();
            let (sent, repairs) = (notation::print(&sanitized.messages), repairs.concat());
            let report = format!("{name} answers: {answer}\nsent:\n{sent}repairs:\n{repairs}given:");
            return Err(TestCaseError::fail(report));
        }
    }
    Ok(())
}
