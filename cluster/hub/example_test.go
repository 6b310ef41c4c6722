package hub_test

import (
	"context"
	"fmt"
	"log"

	"github.com/nats-io/nats.go"

	"github.com/attn-go/attn/cluster/hub"
)

// A server in this process, and two programs of a cluster. Subjects begin with the cluster's
// prefix, and a sealed message says whether the network has damaged it.
func Example() {
	ctx := context.Background()
	server, err := hub.Serve(ctx, hub.ServerConfig{Port: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	config := server.Client() // other machines set Config.URL
	worker, err := hub.Connect(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer worker.Close()
	client, err := hub.Connect(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	subject := worker.Prefix() + ".greetings"
	received, err := worker.SubscribeSync(subject)
	if err != nil {
		log.Fatal(err)
	}
	if err := worker.Flush(); err != nil { // the server has the subscription now
		log.Fatal(err)
	}
	msg := &nats.Msg{Subject: subject, Data: []byte("hello"), Header: nats.Header{}}
	hub.Seal(msg, "a greeting")
	if err := client.PublishMsg(msg); err != nil {
		log.Fatal(err)
	}
	got, err := received.NextMsgWithContext(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.Subject, hub.CheckSeal(got.Header, got.Data, "a greeting", "client"))
	fmt.Println(hub.CheckSeal(got.Header, []byte("hullo"), "a greeting", "client"))

	// Output:
	// attn.greetings <nil>
	// hub: the message is damaged
}
