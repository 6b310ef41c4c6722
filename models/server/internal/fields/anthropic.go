package fields

// What becomes of the fields of requests in Anthropic's form.

// conversation has the fields of a prompt.
var conversation = []Row{
	{Use: Used, Names: "model messages system thinking output_config output_format tools tool_choice"},
	// Who asks, and how it is kept, scheduled and reported.
	{Use: Harmless, Names: "metadata service_tier cache_control inference_geo speed diagnostics user_profile_id workspace_id betas"},
	{Use: Refused, Nothing: "[]", Names: "mcp_servers container"},
	// Old thoughts are kept, as clients ask that keep all of them.
	{Use: Refused, Nothing: `{"edits":[]} {"edits":[{"type":"clear_thinking_20251015","keep":"all"}]} {"edits":[{"keep":"all","type":"clear_thinking_20251015"}]}`, Names: "context_management"},
}

// Messages is the table of /v1/messages.
var Messages = NewTable(conversation, []Row{
	{Use: Used, Names: "max_tokens stop_sequences stream temperature top_k top_p seed receipt"},
	{Use: Refused, Nothing: `"" []`, Names: "stop", Want: "stop_sequences, the name of it here"},
	{Use: Refused, Nothing: `""`, Names: "prompt input", Want: "messages in its place"},
	{Use: Refused, Names: "response_format", Want: "output_config.format, the name of it here"},
})

// CountTokens is the table of /v1/messages/count_tokens.
var CountTokens = NewTable(conversation, []Row{
	{Use: Harmless, Names: "max_tokens stop_sequences stream temperature top_k top_p seed"}, // a prompt does not depend on them
})

// AnthropicMessage is the table of a message.
var AnthropicMessage = NewTable([]Row{{Use: Used, Names: "role content"}, {Use: Harmless, Names: "id type model usage stop_reason stop_sequence"}})

// AnthropicOutput is the table of output_config.
var AnthropicOutput = NewTable([]Row{{Use: Used, Names: "effort format"}})

// AnthropicBlock is the table of a part of a message. What has failed says so in its content.
var AnthropicBlock = NewTable([]Row{
	{Use: Used, Names: "type text thinking id name input tool_use_id content"},
	{Use: Harmless, Names: "cache_control citations signature is_error caller"},
})

// AnthropicTool is the table of a tool.
var AnthropicTool = NewTable([]Row{
	{Use: Used, Names: "type name description input_schema strict"},
	{Use: Harmless, Names: "cache_control eager_input_streaming allowed_callers"},
	{Use: Refused, Nothing: "false", Names: "defer_loading"},
	{Use: Refused, Nothing: "[]", Names: "input_examples"},
})
