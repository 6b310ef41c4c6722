// Command ollama_client asks a server with Ollama's own client and fails if an answer is not as it
// expects: go run ollama_client.go URL.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"

	"github.com/ollama/ollama/api"
)

// keyed sends a key with each request, as the client has none of its own for another server.
type keyed struct{}

func (keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer the-key-of-this-test")
	return http.DefaultTransport.RoundTrip(r)
}

func check(what string, err error, got, want any) {
	if err != nil || !reflect.DeepEqual(got, want) {
		fmt.Printf("%s: got %v, want %v: %v\n", what, got, want, err)
		os.Exit(1)
	}
}

func main() {
	base, err := url.Parse(os.Args[1])
	check("URL", err, nil, nil)
	client, ctx := api.NewClient(base, &http.Client{Transport: keyed{}}), context.Background()

	version, err := client.Version(ctx)
	check("version", err, version != "", true)
	list, err := client.List(ctx)
	check("models", err, len(list.Models), 4)
	loaded, err := client.ListRunning(ctx)
	check("loaded", err, len(loaded.Models), 4)
	shown, err := client.Show(ctx, &api.ShowRequest{Model: "tiny"})
	check("show", err, len(shown.Capabilities) > 0, true)

	options := map[string]any{"num_predict": 30, "temperature": 1.1, "seed": 3}
	messages := []api.Message{{Role: "system", Content: "be brief"}, {Role: "user", Content: "hello there"}}
	chat := func(stream bool) (text string, last api.ChatResponse, err error) {
		var b strings.Builder
		err = client.Chat(ctx, &api.ChatRequest{Model: "tiny", Messages: messages, Options: options, Stream: &stream}, func(r api.ChatResponse) error {
			last = r
			b.WriteString(r.Message.Content)
			return nil
		})
		return b.String(), last, err
	}
	whole, last, err := chat(false)
	check("chat", err, []any{last.Done, last.DoneReason, last.EvalCount}, []any{true, "length", 30})
	streamed, _, err := chat(true)
	check("stream", err, streamed, whole)

	made := ""
	err = client.Generate(ctx, &api.GenerateRequest{Model: "tiny", Prompt: "x", Format: []byte(`{"const": 5}`)}, func(r api.GenerateResponse) error {
		made += r.Response
		return nil
	})
	check("format", err, made, "5")
	vectors, err := client.Embed(ctx, &api.EmbedRequest{Model: "bert-1", Input: []string{"the cat", "a dog"}})
	check("vectors", err, len(vectors.Embeddings), 2)

	err = client.Chat(ctx, &api.ChatRequest{Model: "none", Messages: messages}, func(api.ChatResponse) error { return nil })
	status, ok := err.(api.StatusError)
	check("error", nil, []any{ok, status.StatusCode}, []any{true, 404})
	fmt.Println("all is as expected, with Ollama's client in Go")
}
