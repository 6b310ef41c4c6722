package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A held is what a server holds when nobody asks.
type held struct {
	goroutines int
	heap       uint64           // bytes
	numbers    map[string]int64 // of the language model: pages by state, texts that run and wait
}

// vanish lets clients ask for a time, of which each goes away somewhere in its answer, and prints
// what the server holds before and after.
func (c *config) vanish(ctx context.Context, out io.Writer, url string) error {
	fmt.Fprintln(out, "\n| clients that vanish | goroutines | heap | pages free, kept, all |\n|---|---|---|---|")
	print := func(when string) error {
		h, err := c.holds(ctx, url)
		if err == nil {
			fmt.Fprintf(out, "| %s | %d | %.1f MiB | %d, %d, %d |\n", when, h.goroutines, float64(h.heap)/(1<<20), h.numbers["free"], h.numbers["kept"], h.numbers["all"])
		}
		return err
	}
	if err := print("before"); err != nil {
		return err
	}
	most := c.clients[len(c.clients)-1]
	until, cancel := context.WithTimeout(ctx, c.vanishing)
	defer cancel()
	var asked atomic.Int64
	var wait sync.WaitGroup
	for i := range most {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for until.Err() == nil {
				c.askAndGo(until, url, r)
				asked.Add(1)
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return print(fmt.Sprintf("after %v, %d clients, %d requests", c.vanishing, most, asked.Load()))
}

// askAndGo asks something and goes away after some lines of the answer, if it has so many, or after
// some milliseconds.
func (c *config) askAndGo(ctx context.Context, url string, r *rand.Rand) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path, request := "/v1/chat/completions", map[string]any{
		"model": c.chat, "max_tokens": c.max, "temperature": 1, "seed": r.IntN(1000), "stream": r.IntN(2) == 0,
		"messages": []map[string]string{{"role": "user", "content": question(r.IntN(10000))}},
	}
	if r.IntN(4) == 0 {
		path, request = "/v1/embeddings", map[string]any{"model": c.embed, "input": []string{question(r.IntN(10000)), question(r.IntN(10000))}}
	}
	body, err := json.Marshal(request)
	if err != nil {
		return
	}
	if r.IntN(3) == 0 {
		time.AfterFunc(time.Duration(r.IntN(2000))*time.Millisecond, cancel)
	}
	response, err := send(ctx, url+path, body)
	if err != nil {
		return // it has gone, or the server is busy
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for n := r.IntN(40); n > 0 && lines.Scan(); n-- {
	}
}

// number is a line of the metrics of a language model's scheduler.
var number = regexp.MustCompile(`(?m)^attn_(cache_pages|running|waiting)\{model="([^"]*)"(?:,state="(\w+)")?\} (\S+)$`)

// holds waits until no text runs or waits, and returns what the server holds then.
func (c *config) holds(ctx context.Context, url string) (h held, err error) {
	for {
		client.CloseIdleConnections()
		if h.numbers, err = c.numbers(ctx, url); err != nil {
			return h, err
		}
		client.CloseIdleConnections()
		if h.numbers["running"]+h.numbers["waiting"] == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return h, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	time.Sleep(100 * time.Millisecond) // connections that close
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	h.goroutines, h.heap = runtime.NumGoroutine(), memory.HeapAlloc
	return h, nil
}

// numbers returns metrics of the language model.
func (c *config) numbers(ctx context.Context, url string) (map[string]int64, error) {
	response, err := get(ctx, url+"/metrics")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	list := map[string]int64{}
	for _, m := range number.FindAllStringSubmatch(string(data), -1) {
		if n, err := strconv.ParseFloat(m[4], 64); err == nil && m[2] == c.chat {
			name := m[1]
			if m[3] != "" {
				name = m[3]
			}
			list[name] = int64(n)
		}
	}
	if list["all"] == 0 {
		return nil, fmt.Errorf("%s/metrics has no pages of %s", url, c.chat)
	}
	return list, nil
}
