package embed

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/attn-go/attn/cluster/embed/internal/wire"
	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/kernel"
)

// service is the name by which workers are listed.
const service = "attn-embed"

// An info is what a worker says about itself.
type info struct {
	Worker string `json:"worker"`
	Model  string `json:"model"` // digest in hexadecimal
	Width  int    `json:"width"`
}

// serveInfo answers questions about the worker, and lists it as a NATS service, until the
// returned service is stopped.
func (w *Worker) serveInfo() (micro.Service, error) {
	own := info{w.Name, hex.EncodeToString(w.Model.Digest[:]), w.Model.Width()}
	data, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	s, err := micro.AddService(w.Conn.Conn, micro.Config{
		Name:        service,
		Version:     "1.0.0",
		Description: "sentence embeddings",
		Metadata:    map[string]string{hub.VersionHeader: hub.Own.String(), "worker": own.Worker, "model": own.Model},
	})
	if err != nil {
		return nil, err
	}
	err = s.AddEndpoint(infoToken, micro.HandlerFunc(func(r micro.Request) {
		r.Respond(data, micro.WithHeaders(micro.Headers{hub.VersionHeader: {hub.Own.String()}}))
	}), micro.WithEndpointSubject(w.Conn.Subject("embed", infoToken)), micro.WithEndpointQueueGroupDisabled())
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

const (
	askEvery = 500 * time.Millisecond // how often workers are asked
	askQuiet = 200 * time.Millisecond // after the last answer no other one is expected
)

// findModel asks workers for their model until one answers. If want is a digest, only that
// model counts. While no worker answers it calls waiting.
func findModel(ctx context.Context, conn *hub.Conn, want string, waiting func()) (wire.Hash, int, error) {
	for {
		answers, err := ask(ctx, conn)
		if err != nil {
			return wire.Hash{}, 0, err
		}
		if len(answers) > 0 {
			return choose(answers, want)
		}
		if ctx.Err() != nil {
			return wire.Hash{}, 0, ctx.Err()
		}
		waiting()
	}
}

// ask returns the valid answers of all workers of this version.
func ask(ctx context.Context, conn *hub.Conn) ([]info, error) {
	inbox := conn.NewInbox()
	sub, err := conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe()
	msg := &nats.Msg{Subject: conn.Subject("embed", infoToken), Reply: inbox}
	hub.Stamp(msg)
	if err := conn.PublishMsg(msg); err != nil {
		return nil, err
	}
	var all []info
	for wait := askEvery; ctx.Err() == nil; wait = askQuiet {
		// A message without a worker is answered by the server, at once.
		answer, err := sub.NextMsg(wait)
		if err != nil {
			if len(all) == 0 {
				pause(ctx, askEvery)
			}
			break
		}
		var i info
		if hub.CheckHeader(answer.Header, "worker") != nil || json.Unmarshal(answer.Data, &i) != nil {
			continue
		}
		if _, ok := parseDigest(i.Model); ok && i.Width >= 1 && i.Width <= wire.MaxWidth {
			all = append(all, i)
		}
	}
	return all, nil
}

// choose returns the model that a client uses.
func choose(answers []info, want string) (wire.Hash, int, error) {
	var models []string
	for _, a := range answers {
		if a.Model == want {
			models = []string{want}
			break
		}
		models = append(models, a.Model)
	}
	slices.Sort(models)
	models = slices.Compact(models)
	if len(models) > 1 || want != "" && models[0] != want {
		return wire.Hash{}, 0, &kernel.Error{Where: "embed: Model", Got: "workers with " + strings.Join(models, " and "),
			Want: cmp.Or(want, "workers with one model, or the digest of one"), Kind: ErrModels}
	}
	i := slices.IndexFunc(answers, func(a info) bool { return a.Model == models[0] })
	digest, _ := parseDigest(models[0])
	return digest, answers[i].Width, nil
}
