package relay_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/relay"
	"github.com/attn-go/attn/models/server"
)

// A gateway with one worker, as cluster gateway and cluster answer are on machines of their own.
// The model of this example is tiny, with random weights.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	nats, err := hub.Serve(ctx, hub.ServerConfig{Port: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer nats.Close()
	ended, err := work(ctx, nats.Client())
	if err != nil {
		log.Fatal(err)
	}
	conn, err := hub.Connect(ctx, nats.Client())
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	gateway, err := relay.NewGateway(conn, relay.GatewayConfig{Name: "gateway"})
	if err != nil {
		log.Fatal(err)
	}
	defer gateway.Close()
	for gateway.Ready() != nil { // it looks for workers
		if err := hub.Pause(ctx, 10*time.Millisecond); err != nil {
			log.Fatal(err)
		}
	}
	front, err := server.NewGateway(server.Settings{}, gateway)
	if err != nil {
		log.Fatal(err)
	}
	web := httptest.NewServer(front)
	defer web.Close()

	answer, err := http.Post(web.URL+"/tokenize", "application/json", strings.NewReader(`{"model": "bert-1", "prompt": "the cat sat"}`))
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	fmt.Println(answer.StatusCode, strings.TrimSpace(string(body)), err)
	stop()
	fmt.Println(<-ended)

	// Output:
	// 200 {"count":6,"max_model_len":160,"tokens":[2,201,399,51,301,3]} <nil>
	// context canceled
}

// work starts a worker, and returns when it takes requests. The channel gets the error with which
// it ends.
func work(ctx context.Context, to hub.Config) (ended chan error, err error) {
	conn, err := hub.Connect(ctx, to)
	if err != nil {
		return nil, err
	}
	model, err := server.Load("../../models/testdata/tiny/bert-1", server.LoadOptions{})
	if err != nil {
		return nil, err
	}
	answers, err := server.New(server.Settings{}, model)
	if err != nil {
		return nil, err
	}
	ready, ended := make(chan bool, 1), make(chan error, 1)
	worker := relay.Worker{Conn: conn, Name: "worker", Server: answers, Ready: func() { ready <- true }}
	go func() { ended <- worker.Run(ctx) }()
	select {
	case <-ready:
		return ended, nil
	case err := <-ended:
		return nil, err
	}
}
