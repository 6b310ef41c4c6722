// Command attn runs language models, embeddings and rerankers, and serves them over HTTP. Its
// results are the same on every CPU and with any number of threads.
//
//	attn fetch                                                     two small models
//	attn chat -text 'Rewrite in the past tense: She buys bread.'
//	attn embed docs/*.md -query 'the same bits everywhere'         lines that are near in meaning
//	attn serve -model SmolLM2-135M-Instruct
//	attn help                                                      all commands
package main

import (
	"os"

	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/internal/commands"
	"github.com/attn-go/attn/models/internal/commands/chat"
	"github.com/attn-go/attn/models/internal/commands/embed"
	"github.com/attn-go/attn/models/internal/commands/fetch"
	"github.com/attn-go/attn/models/internal/commands/inspect"
	"github.com/attn-go/attn/models/internal/commands/rerank"
	"github.com/attn-go/attn/models/internal/commands/serve"
	"github.com/attn-go/attn/models/internal/commands/verify"
)

var all = []commands.Command{chat.Command, embed.Command, rerank.Command, serve.Command, inspect.Command, verify.Command, fetch.Command}

func main() { command.Exit("attn", commands.Main(all, os.Args[1:], os.Stdout)) }
