package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/llama"
)

// A conversation is a text that stays in the cache: of every turn the model reads what is new.
type conversation struct {
	*program
	session  *llama.Session
	text     *llama.Text
	messages []chattemplate.Message
}

// converse answers line after line, until the input ends.
func (p *program) converse(ctx context.Context) error {
	if p.raw || p.n != 1 {
		return command.Usage(errors.New("-raw and -n need a prompt"))
	}
	s, err := p.model.NewSession(1, 0)
	if err != nil {
		return err
	}
	c := &conversation{program: p, session: s, text: s.NewText(), messages: p.instructions()}
	fmt.Fprintln(p.stderr, "Ask anything. /clear begins a new conversation, /quit or ^D ends, ^C ends an answer.")
	lines := bufio.NewScanner(p.stdin)
	lines.Buffer(nil, 1<<24)
	for c.ask(); lines.Scan(); c.ask() {
		switch line := strings.TrimSpace(lines.Text()); line {
		case "":
		case "/quit":
			return nil
		case "/clear":
			c.messages = p.instructions()
		default:
			if err := c.turn(ctx, line); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(p.stderr)
	return lines.Err()
}

// ask asks for a line.
func (c *conversation) ask() { fmt.Fprint(c.stderr, "> ") }

// turn answers a line. A conversation that has no room for the line goes on without it.
func (c *conversation) turn(ctx context.Context, line string) error {
	answering, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	c.messages = append(c.messages, chattemplate.Message{Role: "user", Content: line})
	ids, err := c.model.EncodeChat(answering, c.messages)
	if err != nil {
		return err
	}
	rest, err := c.text.Keep(ids)
	if err != nil {
		return err
	}
	answer, speed := &ordered{w: c.stdout, texts: make([]strings.Builder, 1)}, startSpeed([][]int32{rest})
	for token, err := range c.session.Generate(answering, c.generate, llama.Step{Text: c.text, Tokens: rest}) {
		switch {
		case err == nil:
			speed.token()
			answer.add(0, token.Text)
		case errors.As(err, new(*llama.ContextError)) || errors.As(err, new(*kvcache.CapacityError)):
			fmt.Fprintf(c.stderr, "\nchat: the context of %d tokens is full; /clear begins a new conversation, -ctx makes it larger\n", c.model.Options().Context)
		case answering.Err() != nil && ctx.Err() == nil: // ^C: the answer is as long as it is
		default:
			return err
		}
	}
	if speed.tokens == 0 {
		c.messages = c.messages[:len(c.messages)-1]
		return nil
	}
	answer.finish()
	speed.report(c.stderr)
	c.messages = append(c.messages, chattemplate.Message{Role: "assistant", Content: answer.texts[0].String()})
	return nil
}
