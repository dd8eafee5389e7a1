//! The tests of trunkline-providers: one binary.

mod anthropic_decode;
mod anthropic_encode;
mod base_url;
mod bedrock_corpora;
mod bedrock_decode;
mod bedrock_encode;
mod bedrock_errors;
mod bedrock_frames;
mod bedrock_models;
#[cfg(feature = "sigv4")]
mod bedrock_sign;
mod beside;
mod bounds;
mod cassette;
mod catalogue;
#[cfg(feature = "conformance")]
mod conformance;
mod corpora;
mod ends;
mod errors;
mod every_body;
mod every_wire;
mod features;
mod fold;
mod gemini_decode;
mod gemini_encode;
mod grammar;
mod hostile;
#[cfg(feature = "http")]
mod http;
mod learn;
mod memo;
mod names;
mod odd_input;
mod ollama_decode;
mod ollama_encode;
mod openai_chat;
mod openai_responses_decode;
mod openai_responses_encode;
mod pieces_of_calls;
mod pointers;
mod refusals;
mod replay;
mod replies;
mod retry;
mod scripted;
mod splits;
mod sse;
mod truth;
