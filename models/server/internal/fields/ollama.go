package fields

// What becomes of the fields of requests in Ollama's form.

// ollamaText has the fields of /api/chat and /api/generate.
var ollamaText = []Row{
	{Use: Used, Names: "model stream format options think logprobs top_logprobs receipt"},
	// Models stay loaded, and a text that is too long is an error, whatever is asked for.
	{Use: Harmless, Names: "keep_alive truncate"},
	{Use: Refused, Nothing: "false", Names: "shift"},
	{Use: Refused, Nothing: "[]", Names: "images", Want: "none, as models read texts alone"},
	{Use: Refused, Names: "seed num_predict temperature top_k top_p min_p repeat_penalty stop", Want: "it within options"},
	{Use: Refused, Names: "max_tokens max_completion_tokens n_predict", Want: "options.num_predict, the name of it here"},
	{Use: Refused, Nothing: `""`, Names: "name", Want: "model, the name of it here"},
}

// OllamaChat is the table of /api/chat.
var OllamaChat = NewTable(ollamaText, []Row{
	{Use: Used, Names: "messages tools"},
	{Use: Refused, Nothing: `""`, Names: "prompt system template suffix", Want: "messages in its place"},
})

// OllamaGenerate is the table of /api/generate.
var OllamaGenerate = NewTable(ollamaText, []Row{
	{Use: Used, Names: "prompt system raw suffix"},
	{Use: Refused, Nothing: "[]", Names: "context", Want: "/api/chat, whose messages say what was said before"},
	{Use: Refused, Nothing: `""`, Names: "template", Want: "none, as the template is that of the model; raw takes a prompt as it is"},
	{Use: Refused, Nothing: "[]", Names: "messages tools", Want: "/api/chat in its place"},
	{Use: Refused, Nothing: "0 false", Names: "width height steps"}, // of images
})

// OllamaOptions is the table of options.
var OllamaOptions = NewTable([]Row{
	{Use: Used, Names: "seed num_predict temperature top_k top_p min_p repeat_last_n repeat_penalty presence_penalty frequency_penalty stop"},
	// How it is computed and kept, which changes no answer.
	{Use: Harmless, Names: `num_keep num_ctx num_batch num_gqa num_gpu main_gpu low_vram f16_kv use_mmap use_mlock num_thread numa
		mirostat_tau mirostat_eta rope_frequency_base rope_frequency_scale draft_num_predict`},
	{Use: Refused, Nothing: "0 false", Names: "mirostat logits_all vocab_only embedding_only"},
	{Use: Refused, Nothing: "0 1", Names: "typical_p tfs_z"},
	{Use: Refused, Nothing: "true", Names: "penalize_newline"},
})

// OllamaEmbed is the table of /api/embed.
var OllamaEmbed = NewTable([]Row{
	{Use: Used, Names: "model input truncate dimensions receipt"},
	{Use: Harmless, Names: "keep_alive options"},
	{Use: Refused, Nothing: `""`, Names: "prompt", Want: "input, the name of it here"},
})

// OllamaEmbeddings is the table of /api/embeddings.
var OllamaEmbeddings = NewTable([]Row{
	{Use: Used, Names: "model prompt"},
	{Use: Harmless, Names: "keep_alive options"},
	{Use: Refused, Nothing: `"" []`, Names: "input", Want: "prompt, or /api/embed, which takes several"},
})

// OllamaShow is the table of /api/show.
var OllamaShow = NewTable([]Row{
	{Use: Used, Names: "model name"},
	{Use: Harmless, Names: "verbose options"},
	{Use: Refused, Nothing: `""`, Names: "system template"},
})
