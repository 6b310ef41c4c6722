package embeddings_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/philippgille/chromem-go"
	langchain "github.com/tmc/langchaingo/embeddings"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/server"
	"github.com/attn-go/attn/models/weights"
)

// serve serves models over HTTP.
func serve(t *testing.T, models ...string) (url string) {
	t.Helper()
	var list []*server.Model
	for _, path := range models {
		m, err := server.Load(path, server.LoadOptions{Context: 512})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	s, err := server.New(server.Settings{CacheBytes: 1 << 27, Logger: slog.New(slog.DiscardHandler)}, list...)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.Close()
		s.Close(context.Background())
	})
	return web.URL + "/v1"
}

// TestServerEmbeddings: the clients of both libraries get the vectors of the model from
// models/server.
func TestServerEmbeddings(t *testing.T) {
	const folder = "../../models/testdata/tiny/bert-1"
	url := serve(t, folder)
	e, err := encoder.Load(folder, encoder.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"the cat", "a dog runs"}
	want, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	normalized := true
	embed := chromem.NewEmbeddingFuncOpenAICompat(url, "key", "bert-1", &normalized)
	client, err := openai.New(openai.WithBaseURL(url), openai.WithToken("key"), openai.WithEmbeddingModel("bert-1"))
	if err != nil {
		t.Fatal(err)
	}
	embedder, err := langchain.NewEmbedder(client)
	if err != nil {
		t.Fatal(err)
	}
	all, err := embedder.EmbedDocuments(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		one, err := embed(t.Context(), text)
		if err != nil || !slices.Equal(one, want[i]) || !slices.Equal(all[i], want[i]) {
			t.Errorf("%q: %v, vectors %v and %v, want %v", text, err, one, all[i], want[i])
		}
	}
}

// TestServerChat: langchaingo's client gets an answer of SmolLM2, and the same one as a stream.
func TestServerChat(t *testing.T) {
	if _, err := weights.Find(weights.SmolLM2); err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	const model = "SmolLM2-135M-Instruct"
	client, err := openai.New(openai.WithBaseURL(serve(t, model)), openai.WithToken("key"), openai.WithModel(model))
	if err != nil {
		t.Fatal(err)
	}
	question := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "What is the capital of France?")}
	var streamed strings.Builder
	for _, o := range [][]llms.CallOption{nil, {llms.WithStreamingFunc(func(_ context.Context, part []byte) error {
		streamed.Write(part)
		return nil
	})}} {
		a, err := client.GenerateContent(t.Context(), question, append(o, llms.WithTemperature(0), llms.WithMaxTokens(30))...)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Choices[0].Content; got != "The capital of France is Paris." {
			t.Errorf("the answer is %q", got)
		}
	}
	if streamed.String() != "The capital of France is Paris." {
		t.Errorf("the stream is %q", &streamed)
	}
}
