package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
)

// question is the one number i, of some 40 tokens with the template of SmolLM2, to which answers
// are long.
func question(i int) string {
	return fmt.Sprintf("Write a long story about %d cats and a dog.", i+2)
}

// alone measures the model without a server, one answer after the other.
func (c *config) alone(ctx context.Context, out io.Writer) error {
	m, err := models.OpenGenerator(c.chat, decoder.Options{Exec: c.options.Exec})
	if err != nil {
		return err
	}
	var firsts []time.Duration
	for range m.Generate(ctx, []int32{0}, decoder.GenerateOptions{MaxTokens: 2}) { // memory that is used for the first time
	}
	begin, tokens := time.Now(), 0
	for i := range 4 {
		start := time.Now()
		prompt, err := m.EncodeChat(ctx, []chattemplate.Message{{Role: "user", Content: question(i)}})
		if err != nil {
			return err
		}
		first := true
		for _, err := range m.Generate(ctx, prompt, decoder.GenerateOptions{MaxTokens: c.max}) {
			if err != nil {
				return err
			}
			if first {
				firsts, first = append(firsts, time.Since(start)), false
			}
			tokens++
		}
	}
	row(out, "Model.Generate, one after the other", tokens, time.Since(begin), firsts)
	return nil
}

// row prints a row of the table of answers.
func row(out io.Writer, what string, tokens int, took time.Duration, firsts []time.Duration) {
	slices.Sort(firsts)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d)/1e6) }
	fmt.Fprintf(out, "| %s | %.1f | %s | %s |\n", what, float64(tokens)/took.Seconds(), ms(firsts[len(firsts)/2]), ms(firsts[len(firsts)*99/100]))
}

// An asked is what a client has got for a question.
type asked struct {
	tokens int
	first  time.Duration
	err    error
}

// ask asks for a stream of an answer.
func (c *config) ask(ctx context.Context, url, text string, max int) (a asked) {
	body, err := json.Marshal(map[string]any{
		"model": c.chat, "max_tokens": max, "temperature": 0, "stream": true, "stream_options": map[string]bool{"include_usage": true},
		"messages": []map[string]string{{"role": "user", "content": text}},
	})
	if err != nil {
		return asked{err: err}
	}
	start := time.Now()
	response, err := send(ctx, url+"/v1/chat/completions", body)
	if err != nil {
		return asked{err: err}
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if a.first == 0 {
			a.first = time.Since(start)
		}
		var event struct {
			Usage *struct {
				Completion int `json:"completion_tokens"`
			}
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: {")
		if ok && json.Unmarshal([]byte("{"+data), &event) == nil && event.Usage != nil {
			a.tokens = event.Usage.Completion
		}
	}
	a.err = lines.Err()
	return a
}

// send sends a request, whose status must be 200.
func send(ctx context.Context, url string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, "POST", url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return do(r)
}

// get sends a request without a body.
func get(ctx context.Context, url string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return nil, err
	}
	return do(r)
}

// do sends a request, and makes an error of a status that is not 200.
func do(r *http.Request) (*http.Response, error) {
	response, err := client.Do(r)
	if err == nil && response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		return nil, fmt.Errorf("%s: status %d: %s", r.URL, response.StatusCode, text)
	}
	return response, err
}

// client keeps a connection for each client.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}

// fresh makes a connection for each request, as llama-server closes some without saying so.
var fresh = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// together measures clients that ask at once.
func (c *config) together(ctx context.Context, out io.Writer, url string, clients int) error {
	results := make(chan asked, clients*c.answers)
	begin := time.Now()
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			for k := range c.answers {
				results <- c.ask(ctx, url, question(1000*clients+i*c.answers+k), c.max)
			}
		})
	}
	wait.Wait()
	took := time.Since(begin)
	close(results)
	tokens := 0
	var firsts []time.Duration
	for a := range results {
		if a.err != nil {
			return a.err
		}
		tokens += a.tokens
		firsts = append(firsts, a.first)
	}
	row(out, fmt.Sprintf("server, %d clients", clients), tokens, took, firsts)
	return nil
}

// besideLong measures short questions, one after the other, while a prompt of some 2,000 tokens is
// read.
func (c *config) besideLong(ctx context.Context, out io.Writer, url string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan asked, 1)
	go func() { over <- c.ask(ctx, url, strings.Repeat("The cat sits on the mat and sees a dog. ", 180), 2) }()
	var firsts []time.Duration
	begin, tokens := time.Now(), 0
	for i := 0; ; i++ {
		a := c.ask(ctx, url, question(5000+i), 8)
		if a.err != nil {
			return a.err
		}
		select {
		case long := <-over:
			if long.err != nil {
				return long.err
			}
			if len(firsts) == 0 {
				firsts = append(firsts, a.first)
			}
			row(out, "server, 1 client of 8 tokens while 2,000 tokens are read", tokens, time.Since(begin), firsts)
			return nil
		default:
			firsts, tokens = append(firsts, a.first), tokens+a.tokens
		}
	}
}

// vectors measures embeddings: of one call of the model, and of clients with a sentence in each
// request.
func (c *config) vectors(ctx context.Context, out io.Writer, url string) error {
	e, err := models.OpenEmbedder(c.embed, embedding.LoadOptions{})
	if err != nil {
		return err
	}
	o := e.Options()
	o.Exec = c.options.Exec
	e = e.With(o)
	sentences := make([]string, c.sentences)
	for i := range sentences {
		sentences[i] = fmt.Sprintf("The cat number %d sits on the mat in front of the door.", i)
	}
	for range 2 {
		begin := time.Now()
		if _, err := e.Embed(ctx, sentences); err != nil {
			return err
		}
		fmt.Fprintf(out, "| Embed, one call of %d | %.0f |\n", len(sentences), float64(len(sentences))/time.Since(begin).Seconds())
		took, err := c.embedApart(ctx, url, sentences)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| server, 32 clients, a sentence in each request | %.0f |\n", float64(len(sentences))/took.Seconds())
	}
	return nil
}

// embedApart embeds sentences in a request each, 32 at once.
func (c *config) embedApart(ctx context.Context, url string, sentences []string) (time.Duration, error) {
	work := make(chan string)
	failed := make(chan error, 32)
	begin := time.Now()
	var wait sync.WaitGroup
	for range 32 {
		wait.Go(func() {
			for text := range work {
				body, _ := json.Marshal(map[string]string{"model": c.embed, "input": text, "encoding_format": "base64"}) // strings have no error
				response, err := send(ctx, url+"/v1/embeddings", body)
				if err == nil {
					_, err = io.Copy(io.Discard, response.Body)
					response.Body.Close()
				}
				if err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			}
		})
	}
	for _, text := range sentences {
		work <- text
	}
	close(work)
	wait.Wait()
	took := time.Since(begin)
	close(failed)
	return took, <-failed
}
