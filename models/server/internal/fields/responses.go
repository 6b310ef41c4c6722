package fields

// What becomes of the fields of requests of /v1/responses.

// Responses is the table of /v1/responses.
var Responses = NewTable([]Row{
	{Use: Used, Names: `model input instructions previous_response_id store stream max_output_tokens temperature top_p top_logprobs include text reasoning metadata
		tools tool_choice parallel_tool_calls max_tool_calls presence_penalty frequency_penalty safety_identifier prompt_cache_key
		seed top_k min_p stop receipt`},
	// Who asks, and how it is kept, scheduled and reported.
	{Use: Harmless, Names: `user prompt_cache_retention prompt_cache_options service_tier stream_options client_metadata access_programs`},
	{Use: Refused, Nothing: "false", Names: "background"},
	{Use: Refused, Nothing: `"disabled"`, Names: "truncation"},
	{Use: Refused, Nothing: `{} []`, Names: "conversation prompt context_management moderation image background_options"},
	{Use: Refused, Nothing: "[]", Names: "messages", Want: "input, the name of it here"},
	{Use: Refused, Names: "max_tokens max_completion_tokens", Want: "max_output_tokens, the name of it here"},
	{Use: Refused, Names: "response_format", Want: "text.format, the name of it here"},
	{Use: Refused, Names: "reasoning_effort", Want: "reasoning.effort, the name of it here"},
})

// ResponsesText is the table of text.
var ResponsesText = NewTable([]Row{{Use: Used, Names: "format"}, {Use: Harmless, Names: "verbosity"}})

// ResponsesFormat is the table of text.format.
var ResponsesFormat = NewTable([]Row{{Use: Used, Names: "type name description schema strict"}})

// ResponsesItem is the table of an item of input.
var ResponsesItem = NewTable([]Row{
	{Use: Used, Names: "type role content summary call_id name arguments output"},
	{Use: Harmless, Names: "id status phase"},
	{Use: Refused, Nothing: `""`, Names: "encrypted_content", Want: "content, as nothing is encrypted here"},
})

// ResponsesTool is the table of a tool.
var ResponsesTool = NewTable([]Row{{Use: Used, Names: "type name description parameters strict"}, {Use: Refused, Nothing: "false", Names: "defer_loading"}})
