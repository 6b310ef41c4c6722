package serving_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/server"
	"github.com/attn-go/attn/models/serving"
)

// A command that serves models, with the flags of attn serve. The model of this example is tiny,
// with random weights.
func Example() {
	var (
		models   serving.Models
		web      serving.Web
		settings server.Settings
	)
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	models.Flags(fs, &settings)
	web.Flags(fs, &settings, "")
	args := []string{"-model", "../testdata/tiny/bert-1", "-addr", "127.0.0.1:0"}
	err := errors.Join(command.Parse(fs, args, os.Stdout), models.Check(&settings), web.Check(&settings))
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	logger := web.Log(io.Discard)
	settings.Logger = logger
	listener, err := web.Listen()
	if err != nil {
		log.Fatal(err)
	}
	handler, err := models.Load(ctx, settings, logger)
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- web.Serve(ctx, listener, handler, logger) }()

	answer, err := http.Get("http://" + listener.Addr().String() + "/readyz")
	if err != nil {
		log.Fatal(err)
	}
	answer.Body.Close()
	fmt.Println(answer.StatusCode)
	stop(errors.New("the example ends"))
	fmt.Println(<-done)

	// Output:
	// 200
	// the example ends
}
