package dialect

import "github.com/attn-go/attn/models/server/internal/fields"

// What becomes of the fields of each object: [fields.Tabled].

func (*messagesRequest) Fields() fields.Table         { return fields.Messages }
func (*countRequest) Fields() fields.Table            { return fields.CountTokens }
func (*anthropicOutput) Fields() fields.Table         { return fields.AnthropicOutput }
func (*anthropicTurn) Fields() fields.Table           { return fields.AnthropicMessage }
func (*anthropicBlock) Fields() fields.Table          { return fields.AnthropicBlock }
func (*anthropicTool) Fields() fields.Table           { return fields.AnthropicTool }
func (*chatRequest) Fields() fields.Table             { return fields.Chat }
func (*completionRequest) Fields() fields.Table       { return fields.Completion }
func (*embeddingsRequest) Fields() fields.Table       { return fields.Embedding }
func (*message) Fields() fields.Table                 { return fields.Message }
func (*toolCall) Fields() fields.Table                { return fields.Call }
func (*called) Fields() fields.Table                  { return fields.Called }
func (*tool) Fields() fields.Table                    { return fields.Tool }
func (*function) Fields() fields.Table                { return fields.Function }
func (*namedTool) Fields() fields.Table               { return fields.NamedTool }
func (*toolChoice) Fields() fields.Table              { return fields.ToolChoice }
func (*named) Fields() fields.Table                   { return fields.Named }
func (*allowed) Fields() fields.Table                 { return fields.Allowed }
func (*ollamaOptions) Fields() fields.Table           { return fields.OllamaOptions }
func (*ollamaEmbedRequest) Fields() fields.Table      { return fields.OllamaEmbed }
func (*ollamaEmbeddingsRequest) Fields() fields.Table { return fields.OllamaEmbeddings }
func (*ollamaShowRequest) Fields() fields.Table       { return fields.OllamaShow }
func (*ollamaChatRequest) Fields() fields.Table       { return fields.OllamaChat }
func (*ollamaGenerateRequest) Fields() fields.Table   { return fields.OllamaGenerate }
func (*rerankRequest) Fields() fields.Table           { return fields.Rerank }
func (*responsesRequest) Fields() fields.Table        { return fields.Responses }
func (*responsesText) Fields() fields.Table           { return fields.ResponsesText }
func (*responsesFormat) Fields() fields.Table         { return fields.ResponsesFormat }
func (*responsesItem) Fields() fields.Table           { return fields.ResponsesItem }
func (*responsesTool) Fields() fields.Table           { return fields.ResponsesTool }
func (*teiRequest) Fields() fields.Table              { return fields.TEIEmbed }
func (*reasoning) Fields() fields.Table               { return fields.Reasoning }
func (*thinking) Fields() fields.Table                { return fields.Thinking }
func (*tokenizeRequest) Fields() fields.Table         { return fields.Tokenize }
func (*detokenizeRequest) Fields() fields.Table       { return fields.Detokenize }
