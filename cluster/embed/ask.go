package embed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/relay"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/server"
)

// An asker has the workers of a gateway in this process make vectors, by the requests that package
// server takes.
type asker struct {
	gateway *relay.Gateway
	run     string // in whose name workers share out their time
	model   facts
}

// facts is what workers say of a model.
type facts struct {
	ID          string   `json:"id"`
	Tasks       []string `json:"tasks"`
	Dimensions  int      `json:"dimensions"`
	Fingerprint string   `json:"system_fingerprint"`
}

// A recorder keeps an answer. The gateway writes it from one goroutine.
type recorder struct {
	status int
	fields http.Header
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header            { return r.fields }
func (r *recorder) WriteHeader(status int)         { r.status = status }
func (r *recorder) Write(data []byte) (int, error) { return r.body.Write(data) }

// call asks a worker, and reads its answer into to. The error is errBusy, that of ctx, or says why
// there is no answer.
func (a *asker) call(ctx context.Context, method, path string, body []byte, to any) error {
	w := &recorder{fields: http.Header{}}
	err := a.gateway.Answer(ctx, w, &server.Call{Method: method, Path: path, Body: body, Origin: server.Origin{Key: a.run, RequestID: a.run, AnswerID: a.run}})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, server.ErrUnavailable), w.status == http.StatusServiceUnavailable, w.status == http.StatusTooManyRequests:
		return errBusy
	case errors.Is(err, server.ErrBackend):
		return fmt.Errorf("no worker survived or answered in %d tries", tries)
	case err != nil:
		return err
	case w.status != http.StatusOK:
		var answer struct{ Error struct{ Message string } }
		if json.Unmarshal(w.body.Bytes(), &answer) != nil || answer.Error.Message == "" {
			answer.Error.Message = http.StatusText(w.status)
		}
		return errors.New(answer.Error.Message)
	}
	if err := json.Unmarshal(w.body.Bytes(), to); err != nil {
		return fmt.Errorf("the answer is no JSON: %w", err)
	}
	return nil
}

// askEvery is how often workers are asked whether they are there.
const askEvery = 250 * time.Millisecond

// find asks for the models that workers have until one answers, and takes the one of a name, or
// without a name the only one that makes vectors. While no worker answers it calls waiting.
func (a *asker) find(ctx context.Context, name string, waiting func()) error {
	var list struct{ Data []facts }
	for {
		err := a.call(ctx, http.MethodGet, "/v1/models", nil, &list)
		if err == nil {
			break
		}
		if !errors.Is(err, errBusy) {
			return err
		}
		waiting()
		hub.Pause(ctx, askEvery)
	}
	able := slices.DeleteFunc(list.Data, func(f facts) bool { return !slices.Contains(f.Tasks, "embedding") || f.Dimensions < 1 })
	var names []string
	for _, f := range able {
		if f.ID == name || name == "" && len(able) == 1 {
			a.model = f
			return nil
		}
		names = append(names, f.ID)
	}
	return &kernel.Error{Where: "embed: Model", Got: fmt.Sprintf("workers with %q for vectors", strings.Join(names, ", ")),
		Want: cmp.Or(name, "workers with one, or its name"), Kind: ErrModels}
}

// vectors returns the vectors of texts. The error is as that of call.
func (a *asker) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(map[string]any{"model": a.model.ID, "input": texts, "encoding_format": "base64", "truncate": true})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data        []struct{ Embedding string }
		Fingerprint string `json:"system_fingerprint"`
	}
	if err := a.call(ctx, http.MethodPost, "/v1/embeddings", body, &answer); err != nil {
		return nil, err
	}
	if len(answer.Data) != len(texts) || answer.Fingerprint != a.model.Fingerprint {
		return nil, fmt.Errorf("%d vectors of %s for %d texts", len(answer.Data), answer.Fingerprint, len(texts))
	}
	vectors := make([][]float32, len(texts))
	for i, d := range answer.Data {
		data, err := base64.StdEncoding.DecodeString(d.Embedding)
		if err != nil || len(data) != 4*a.model.Dimensions {
			return nil, fmt.Errorf("a vector of %d bytes, want %d", len(data), 4*a.model.Dimensions)
		}
		for at := 0; at < len(data); at += 4 {
			x := math.Float32frombits(binary.LittleEndian.Uint32(data[at:]))
			if x-x != 0 {
				return nil, errors.New("a vector has numbers that are not finite")
			}
			vectors[i] = append(vectors[i], x)
		}
	}
	return vectors, nil
}
