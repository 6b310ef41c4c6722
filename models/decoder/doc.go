// Package decoder runs language models of the Llama family from GGUF files: it reads the file,
// keeps keys and values of many texts in one paged cache, and generates text.
//
//	m, err := decoder.Load("SmolLM2-135M-Instruct", decoder.Options{})
//	prompt, err := m.EncodeChat(ctx, []chattemplate.Message{{Role: "user", Content: "Why is the sky blue?"}})
//	for token, err := range m.Generate(ctx, prompt, decoder.GenerateOptions{MaxTokens: 100}) {
//		if err != nil { ... }
//		fmt.Print(token.Text)
//	}
//
// [Model.Generate] and [Model.GenerateBatch] make a cache for one call. A program that keeps
// texts, forks them or reads logits makes a [Session] and calls [Session.Forward].
//
// # Bits
//
// All arithmetic is that of the numeric contract of attn, package contract. The logits after a token
// have the same bits on every CPU, tier and number of threads, whether the text was read at
// once, in chunks or token by token, alone or beside others, with or without forks: for every
// type of cache, as a prompt also reads its keys and values as they are stored. So a seed
// gives one text everywhere.
//
// # Files
//
// A file has general.architecture "llama", which stands for many models: Llama 1 to 3,
// SmolLM, Mistral 7B, TinyLlama and others. It may have grouped-query attention, biases,
// an output matrix of its own or none (then it is that of the embedding), linear scaling of
// positions, and factors of frequencies (rope_freqs.weight). Queries and keys are
// expected in the order in which llama.cpp's converter writes them: rotary positions on neighbours.
// A file with anything else (experts, YaRN, an unknown tensor) is an error, not ignored.
//
// Weights of F32, F16, BF16, Q8_0, Q4_0 and Q4_1 take the memory that they take in the file,
// and are computed from as they are. Those of other types (Q5_0, Q5_1, Q2_K to Q6_K) are
// converted to float32 when the file is loaded, which takes 4 bytes a weight. The bits are
// those of float32 weights in both cases. The file is not needed after it is loaded.
package decoder
