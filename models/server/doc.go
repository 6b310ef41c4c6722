// Package server serves models of this module over HTTP, with OpenAI's, Anthropic's and Ollama's
// APIs, so that clients of these work unchanged.
//
//	m, err := server.Load("SmolLM2-135M-Instruct", server.LoadOptions{})
//	s, err := server.New(server.Settings{}, m)
//	defer s.Close(ctx)
//	http.ListenAndServe("127.0.0.1:8080", s)
//
// The command attn serve adds flags, TLS, signals and limits for connections.
//
// # The answer does not depend on the load
//
// A body has the same bytes whether the request comes alone or beside others, in any order, on any
// CPU, with any number of threads, and with a cache so small that the server computed a part twice.
// Only id and created differ, and durations in Ollama's form, which a gateway leaves out. Streams
// have one event for each token that adds text; several choices take turns. The default seed is 1.
//
// system_fingerprint is a hash of what the bytes depend on: the numeric contract, the files of the
// model, the settings that change results, and the version of this package's answers.
//
// With "receipt": true an answer of a language model has "receipts", of package receipt, one for
// each choice: anyone with the model can check the answer. A stream has them in its last event,
// which has no choice; a stream that fails has none. Embeddings and ranks have one "receipt" for
// the request. The receipt of a rank hashes the score, not relevance_score, the logistic function
// of it. Settings.ReceiptKey signs receipts. Embeddings of tokens have none, and neither have
// models of [NewModel], whose files are unknown: there the field receipt is an error.
//
// # Vectors of tokens, and weights
//
// With ColBERT, and with bge-m3 and its colbert_linear.pt, "return_multivector": true gives each
// text "embeddings" in place of "embedding": a vector for each token that has one. input_type says
// whether texts of ColBERT are queries or, as they are by default, documents. "return_sparse": true
// gives a text "sparse_embedding": [{"index": 5, "value": 0.3}], with SPLADE, or with bge-m3 beside
// its vector. Neither has receipts. ColBERT also ranks, by MaxSim: relevance_score
// is the score itself, as that is no logit.
//
// # Tools and thinking
//
// Chats take tools, tool_choice and parallel_tool_calls, messages with tool_calls and of role tool,
// and documents. The model's template writes them. If it knows no tools, package answer writes them
// for it. Package answer also parses answers by the family of the template: reasoning_content is
// apart from content, and tool_calls have complete arguments. What does not parse is content.
//
// With tool_choice required or a function, an answer is valid calls, unless max_tokens cuts it. With
// auto any text may come before a call, and the call is valid. If a tool is not strict, and package
// grammar does not support its schema, its arguments are any object. Ids of calls are hashes of the
// prompt, so that a session can be repeated.
//
// A stream sends arguments in JSON as the model writes them, unless a string of stop may end them.
// A grammar makes sure that an announced call is completed. Only finish_reason length can cut it,
// also in an answer that is no stream. Then arguments that are a string end there. Arguments that
// are an object, as in /v1/messages, /api/chat and stored responses, have the complete values.
//
// The template reads enable_thinking, reasoning_effort and chat_template_kwargs; the
// reasoning_effort none means enable_thinking false. thinking_token_budget is the most tokens of
// thinking, whose end is forced then. reasoning_budget, thinking_budget, reasoning.max_tokens and
// thinking.budget_tokens are other names of it.
//
// # Paths
//
//	GET  /                                       a page: chats, semantic search, the models
//	GET  /v1/models, /v1/models/{model}
//	POST /v1/chat/completions, /v1/completions   of language models, also as a stream
//	POST /v1/responses                           OpenAI's newer form; also GET and DELETE
//	POST /v1/messages                            Anthropic's form; also /v1/messages/count_tokens
//	POST /api/chat, /api/generate, /api/embed    Ollama's form; also /api/embeddings, /api/show,
//	                                             and GET of /api/tags, /api/ps, /api/version
//	POST /v1/embeddings, /embed                  of encoders, the latter in TEI's form (Text
//	                                             Embeddings Inference)
//	POST /v1/multi-vector, /embed_all            vectors of tokens, in Jina's and TEI's form
//	POST /embed_sparse                           weights of tokens, in TEI's form
//	POST /v1/rerank, /v2/rerank, /rerank         of rerankers, in Cohere's and Jina's form, or in
//	                                             TEI's: texts in place of documents
//	POST /tokenize, /detokenize                  in llama.cpp's and vLLM's form
//	GET  /healthz, /readyz, /metrics             for whoever runs it
//	GET  /health, /props                          as llama.cpp's server has them
//	GET  /debug/pprof/                            if Settings.Pprof is set
//
// # Responses that are kept
//
// The server keeps answers of /v1/responses for previous_response_id, in Settings.KeptBytes. When
// these are full, the key with the most bytes of answers loses its oldest ones: a client that sends
// many loses only its own. An answer depends on the conversation alone, whether it comes from kept
// responses or from the input. If the previous response is gone, that is an error. A gateway keeps
// none.
//
// # Fields
//
// An unsupported field that would change the answer gives an error that names it, unless its value
// asks for nothing: null, an empty list, or the default, such as "n": 1. The server accepts fields
// that change no answer, such as user, and ignores unknown ones, which the log names once. Package
// internal/fields has the tables of all known fields, also of other servers' APIs. Names are case
// sensitive; if an object has a name twice, the last one counts. For max_tokens and top_k, -1 means
// no limit. 3.0 is 3.
package server
