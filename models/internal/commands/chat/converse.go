package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/decoder"
)

// A conversation is a text that stays in the cache: of every turn the model reads what is new.
type conversation struct {
	*program
	session  *decoder.Session
	text     *decoder.Text
	messages []chattemplate.Message
	pending  string // a line that the context had no room for
}

// converse answers line after line, until the input ends.
func (p *program) converse(ctx context.Context) error {
	s, err := p.model.NewSession(1, 0)
	if err != nil {
		return err
	}
	c := &conversation{program: p, session: s, text: s.NewText(), messages: p.instructions()}
	fmt.Fprintln(p.stderr, "Ask anything. /help lists the commands, ^D ends, ^C ends an answer.")
	lines := newLineReader(p.stdin, p.stderr)
	for {
		line, err := readLine(ctx, lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, isCommand := strings.CutPrefix(strings.TrimRight(line, " \t\r\n"), "/")
		switch line = strings.TrimSpace(line); {
		case isCommand && name == "quit":
			return nil
		case isCommand:
			err = c.command(ctx, name)
		case line != "":
			err = c.turn(ctx, line)
		}
		if err != nil {
			return err
		}
	}
}

// turn answers a line. If the conversation has no room for it, the line is kept for /drop.
func (c *conversation) turn(ctx context.Context, line string) error {
	answering, stop := command.Signals(ctx, os.Interrupt)
	defer stop()
	messages := append(c.messages, chattemplate.Message{Role: "user", Content: line})
	talk := c.talk(messages)
	ids, err := c.model.EncodeConversation(answering, talk)
	if err != nil {
		return c.ended(ctx, answering, err)
	}
	rest, err := c.text.Keep(ids)
	if err != nil {
		return err
	}
	o := c.generate
	records, err := c.receipts.begin([][]int32{ids}, []*chattemplate.Conversation{talk}, &o)
	if err != nil {
		return err
	}
	answer, speed := &ordered{w: c.stdout, texts: make([]strings.Builder, 1)}, startSpeed([][]int32{rest})
	for token, err := range c.session.Generate(answering, o, decoder.Step{Text: c.text, Tokens: rest}) {
		switch {
		case err == nil:
			records.add(token)
			speed.token(token)
			answer.add(0, token.Text)
			if token.End == decoder.EndContext {
				c.full(line, true)
			}
		case errors.Is(err, decoder.ErrContext) || errors.As(err, new(*kvcache.CapacityError)):
			c.full(line, false)
		default:
			if err := c.ended(ctx, answering, err); err != nil {
				return err
			}
		}
	}
	if err := c.receipts.write(records); err != nil {
		return err
	}
	if speed.tokens == 0 {
		return nil
	}
	c.pending = ""
	answer.finish()
	speed.report(c.stderr)
	c.messages = append(messages, chattemplate.Message{Role: "assistant", Content: answer.texts[0].String()})
	return nil
}

// ended returns the error that ends the conversation. ^C ends an answer only, which is as long as
// it is then.
func (c *conversation) ended(ctx, answering context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case answering.Err() != nil:
		return nil
	}
	return err
}

// full says that the context is full, and what can be done.
func (c *conversation) full(line string, begun bool) {
	what := "drops the oldest turns"
	if !begun {
		c.pending = line
		what += " and asks this again"
	}
	fmt.Fprintf(c.stderr, "\nattn chat: the context of %d tokens is full; /drop %s, /clear begins a new conversation, -ctx makes it larger\n", c.model.Options().Context, what)
}
