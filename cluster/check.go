package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/attn-go/attn/models/command"
)

const checkUsage = `usage: cluster check [flags] URL

Asks for http://HOST:PORT/healthz or /readyz of a process with -metrics, or of a gateway, and fails unless the answer has
status 200. Containers whose image has no other program than this one ask so for their health.
`

// checkBytes is the most of an answer that an error has.
const checkBytes = 1000

// runCheck asks a process how it is.
func runCheck(ctx context.Context, s streams, args []string) error {
	fs := newFlags("check", checkUsage)
	timeout := fs.Duration("timeout", 3*time.Second, "most `time` of the answer")
	if err := command.Parse(fs, args, s.out); err != nil {
		return err
	}
	if fs.NArg() != 1 || *timeout <= 0 {
		return command.Usage(errors.New("want one argument, http://HOST:PORT/readyz, and -timeout of more than 0"))
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fs.Arg(0), nil)
	if err != nil {
		return command.Usage(fmt.Errorf("URL is %q, want http://HOST:PORT/readyz: %w", fs.Arg(0), err))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, checkBytes))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s has status %s, want 200: %s", fs.Arg(0), response.Status, body)
	}
	return err
}
