// Package server answers HTTP requests with models of this module, in the forms of OpenAI's,
// Anthropic's and Ollama's APIs, so that clients for those work as they are.
//
//	m, err := server.Load("SmolLM2-135M-Instruct", server.LoadOptions{})
//	s, err := server.New(server.Settings{}, m)
//	defer s.Close(ctx)
//	http.ListenAndServe("127.0.0.1:8080", s)
//
// The command attn serve is this with flags, TLS, signals and limits for connections.
//
// # The answer does not depend on the load
//
// A body has the same bytes whether the request comes alone or beside others, in whatever order, on
// any CPU, with any number of threads, and if the cache was too small and a part of it was computed
// twice. Only id and created differ, and durations in Ollama's form, which a gateway leaves out.
// Streams have one event for each token that adds text; several choices take turns. A request
// without a seed has the seed 1.
//
// system_fingerprint is a hash of what the bytes depend on: the numeric contract, the files of the
// model, the settings that change results, and the version of this package's answers.
//
// With "receipt": true an answer of a language model has "receipts", of package receipt, one for
// each choice: whoever has the model can check it. A stream has them in its last event, which has
// no choice; a stream that fails has none. Embeddings and ranks have "receipt", one for the whole
// request; the score of a rank is hashed before the logistic function that makes relevance_score of
// it. Settings.ReceiptKey signs them. Embeddings of tokens, and models of [NewModel], whose files
// are unknown, have no receipts: the field receipt is an error there.
//
// # Vectors of tokens, and weights
//
// With ColBERT, and with bge-m3 and its colbert_linear.pt, "return_multivector": true gives each
// text "embeddings" in place of "embedding": a vector for each token that has one. input_type says
// whether texts of ColBERT are queries or, as they are by default, documents. "return_sparse": true
// gives a text "sparse_embedding": [{"index": 5, "value": 0.3}], with SPLADE, or with bge-m3 beside
// its vector. They have no receipts: that is an error. ColBERT also ranks, by MaxSim:
// relevance_score is the score itself, as that is no logit.
//
// # Tools and thinking
//
// Chats take tools, tool_choice and parallel_tool_calls, messages with tool_calls and of role tool,
// and documents; the model's template writes them, or, if it knows no tools, what package answer
// makes of them. Package answer takes answers apart by the family of the template:
// reasoning_content is apart from content, and tool_calls have complete arguments. What does not
// parse is content. In streams arguments that are written as JSON come as they are written, unless
// a string of stop may end them: a grammar has made such a call certain when it is announced. Only
// the end of the answer by finish_reason length can break it off, and a whole answer has such a
// call, too. Its arguments go as far as they came; where they are an object, as in /v1/messages and
// /api/chat, and in a response that is kept, they are the values that are whole. With tool_choice
// required or a function, an answer is valid calls, as long as max_tokens lets it end; with auto
// any text may come before a call, which is valid then. Only arguments of a tool that is not
// strict, and whose schema package grammar does not have, are any object. Ids of calls are hashes
// of the prompt, so that a session can be repeated.
//
// The template reads enable_thinking, reasoning_effort and chat_template_kwargs; the
// reasoning_effort none means enable_thinking false. thinking_token_budget, also as
// reasoning_budget, thinking_budget, reasoning.max_tokens or thinking.budget_tokens, is the most
// tokens of thinking: then its end is forced.
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
// Answers of /v1/responses are kept for previous_response_id, in Settings.KeptBytes. When these are
// full, the key with the most answers loses its oldest ones: who sends many pushes out only their
// own. An answer depends on the conversation alone, whether it comes from kept responses or from
// the input; a previous response that is gone is an error. A gateway keeps none.
//
// # Fields
//
// A field that would change the answer and is not supported is an error that names it, unless its
// value asks for nothing: null, an empty list, or what is done without it, such as "n": 1. Fields
// that change no answer, such as user, are accepted. A field that is not known is ignored, and the
// log names it once. Package internal/fields has the tables of all known fields, also of other
// servers' APIs. Names are compared as they are written; if an object has a name twice, the last
// one counts. -1 is no limit for max_tokens and top_k, and 3.0 is 3.
package server
