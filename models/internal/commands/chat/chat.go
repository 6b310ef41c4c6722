// Package chat is the command attn chat, which talks with a language model, out of a GGUF file or a
// folder of safetensors. The text is the same on every CPU and with any number of threads.
//
//	attn chat                                            a conversation
//	attn chat -text 'Which word is a colour: run, red?'  one answer
//	attn chat -text 'Write a line of verse.' -n 4        four answers, side by side
//	attn chat -text 'Summarize in one sentence:' a.txt   a prompt with a file below it
//	attn chat -raw -text 'Once upon a time'              a text continued
//	attn chat -json-schema person.json -text 'Anna is 12.'  an answer in JSON of a schema
//	attn chat -lines questions.txt                       an answer to every line
package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/internal/commands"
	"github.com/attn-go/attn/models/internal/loadbar"
	"github.com/attn-go/attn/models/internal/signals"
	"github.com/attn-go/attn/models/internal/terminal"
)

// Command is attn chat.
var Command = commands.Command{Name: "chat", Summary: "talks with a language model, or answers prompts", Flags: flagSet, Main: Main}

// Main runs the command.
func Main(args []string) {
	// ^C ends an answer, see program.answer. What else asks the program to end does so here.
	ctx, stop := command.Signals(context.Background(), signals.Ending...)
	defer stop()
	command.Exit("attn chat", run(ctx, args, os.Stdin, os.Stdout, os.Stderr))
}

// A program is a run of the command.
type program struct {
	*config
	model  *decoder.Model
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	receipts *receipts // nil without -receipt
}

// run runs the command: text goes to stdout, all else to stderr. After a signal its error is a
// command.SignalError, when everything is written as after any end.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	c, err := parse(args, stderr)
	if err != nil {
		return err
	}
	text, talks, err := c.input(ctx, stdin, stderr)
	if err != nil {
		return err
	}
	if err := c.readGrammar(ctx); err != nil {
		return err
	}
	c.fetch.Allow(ctx, stderr)
	m, err := c.load()
	if err != nil {
		return err
	}
	p := &program{config: c, model: m, stdin: stdin, stdout: stdout, stderr: stderr}
	if p.receipts, err = c.openReceipts(m); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.receipts.close()) }()
	switch {
	case talks:
		return p.converse(ctx)
	case c.lines:
		return p.answerLines(ctx, text)
	}
	return p.answerOne(ctx, text)
}

// input returns what is to be answered, or that it is a conversation.
func (c *config) input(ctx context.Context, stdin io.Reader, report io.Writer) (text string, talks bool, err error) {
	if err := c.inputs.Check(report); err != nil {
		return "", false, err
	}
	if err := c.inputs.CheckOutput("-receipt", c.receipt.File); err != nil {
		return "", false, err
	}
	if !c.lines && len(c.inputs.Texts) == 0 && slices.Equal(c.inputs.Files, []string{"-"}) && terminal.Is(stdin) {
		if c.raw || c.n != 1 {
			return "", false, command.Usage(errors.New("-raw and -n need a prompt"))
		}
		return "", true, nil
	}
	if text, err = c.inputs.ReadAll(ctx, stdin); err != nil {
		return "", false, err
	}
	if text == "" || !c.raw && strings.TrimSpace(text) == "" {
		return "", false, command.Usage(errors.New("the prompt is empty: give it by -text, in files or on standard input"))
	}
	return text, false, nil
}

// load loads the model and makes sure that it can do what is asked for.
func (c *config) load() (*decoder.Model, error) {
	o := c.options
	var end func()
	o.Progress, end = loadbar.New(os.Stderr)
	m, err := models.OpenGenerator(c.model, o)
	end()
	if err != nil {
		return nil, inFlags(err)
	}
	if _, err := m.Tokenizer(); err != nil {
		return nil, fmt.Errorf("%s has no tokenizer for texts: %w", c.model, err)
	}
	if _, err := m.Template(); err != nil && !c.raw {
		return nil, fmt.Errorf("%s has no template for conversations: %w; -raw continues a text without one", c.model, err)
	}
	if c.draft != "" {
		if c.generate.DraftModel, err = models.OpenDraft(c.draft, c.options); err != nil {
			return nil, fmt.Errorf("-draft-model %s: %w", c.draft, err)
		}
	}
	return m, nil
}

// encode returns the tokens of a prompt: the text itself, or a conversation of one question.
func (p *program) encode(ctx context.Context, prompt string) (ids []int32, talk *chattemplate.Conversation, err error) {
	if p.raw {
		ids, err = p.model.Encode(prompt, true)
		return ids, nil, err
	}
	talk = p.talk(append(p.instructions(), chattemplate.Message{Role: "user", Content: prompt}))
	ids, err = p.model.EncodeConversation(ctx, talk)
	return ids, talk, err
}

// talk returns a conversation of messages.
func (c *config) talk(messages []chattemplate.Message) *chattemplate.Conversation {
	return &chattemplate.Conversation{Messages: messages, Variables: c.variables, Date: c.date}
}

// instructions returns the beginning of every conversation.
func (c *config) instructions() []chattemplate.Message {
	if c.system == "" {
		return nil
	}
	return []chattemplate.Message{{Role: "system", Content: c.system}}
}

// answerOne answers a prompt, as often as the user wants.
func (p *program) answerOne(ctx context.Context, prompt string) error {
	ids, talk, err := p.encode(ctx, prompt)
	if err != nil {
		return err
	}
	prefix := ""
	if p.raw {
		prefix = prompt
	}
	var prompts [][]int32
	var talks []*chattemplate.Conversation
	var titles []string
	for i := range p.n {
		prompts, talks = append(prompts, ids), append(talks, talk)
		titles = append(titles, fmt.Sprintf("%d of %d, seed %d", i+1, p.n, p.generate.Sampler.Seed+uint64(i)))
	}
	if p.n == 1 {
		titles = nil
	}
	return p.answer(ctx, prompts, talks, titles, prefix)
}

// batch is the most prompts of -lines that are answered side by side.
const batch = 16

// answerLines answers every line of a text.
func (p *program) answerLines(ctx context.Context, text string) (err error) {
	var prompts [][]int32
	var talks []*chattemplate.Conversation
	var titles []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		ids, talk, err := p.encode(ctx, line)
		if err != nil {
			return err
		}
		for range p.n {
			prompts, talks, titles = append(prompts, ids), append(talks, talk), append(titles, line)
		}
	}
	for len(prompts) > 0 && err == nil {
		n := min(batch, len(prompts))
		err = p.answer(ctx, prompts[:n], talks[:n], titles[:n], "")
		prompts, talks, titles = prompts[n:], talks[n:], titles[n:]
	}
	return err
}

// answer answers prompts side by side and prints the answers one after the other, under their
// titles if there are any, each after prefix: the first one while it is made, the others in
// the end. talks are the conversations of the prompts.
func (p *program) answer(ctx context.Context, prompts [][]int32, talks []*chattemplate.Conversation, titles []string, prefix string) error {
	ctx, stop := command.Signals(ctx, os.Interrupt)
	defer stop()
	w := &ordered{w: p.stdout, titles: titles, prefix: prefix, texts: make([]strings.Builder, len(prompts))}
	speed := startSpeed(prompts)
	o := p.generate
	records, err := p.receipts.begin(prompts, talks, &o)
	if err != nil {
		return err
	}
	var failure error
	for token, err := range p.model.GenerateBatch(ctx, prompts, o) {
		switch {
		case err == nil:
			records.add(token)
			speed.token(token)
			w.add(token.Index, token.Text)
			if token.End == decoder.EndContext {
				fmt.Fprintf(p.stderr, "\nattn chat: text %d ends: the context of %d tokens is full, -ctx makes it larger\n", token.Index+1, p.model.Options().Context)
			}
		case ctx.Err() != nil:
			failure = context.Cause(ctx)
		default:
			failure = err
		}
	}
	if failure == nil || speed.tokens > 0 {
		w.finish()
		speed.report(p.stderr)
	}
	return errors.Join(failure, p.receipts.write(records))
}
