package shard

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard/internal/store"
	"github.com/attn-go/attn/kernel"
)

// WorkerConfig describes a worker.
type WorkerConfig struct {
	// Name is 1 to 55 letters, digits, - and _. Other programs call the worker by [Worker.ID],
	// which begins with it: a worker that starts again under its name is another one, as it has
	// lost its blocks.
	Name string

	// Memory is the most bytes of keys and values that the worker holds. 0 means 1 GiB.
	Memory int64

	// Concurrent is the most messages that the worker works on at a time. 0 means 2. Others
	// wait, and beyond 1024 of them or 256 MiB they are dropped, which clients take for silence.
	Concurrent int

	// A worker without an answer for the time Repair counts as gone: the others copy its blocks of
	// the directory to workers that lack them. 0 means 10 s. With a negative time this worker makes
	// no copies. Each worker looks for others four times in this time.
	Repair time.Duration

	// Keep is how long the worker keeps blocks that nobody can use: their client's connection has
	// ended, or the directory no longer has the sequence. 0 means 1 minute. With a negative time
	// the worker keeps them until it ends. A server notices at once that a process has ended, and
	// after 30 seconds that it is cut off silently.
	Keep time.Duration

	// Exec says how calls are executed. Its Threads share the blocks of a message.
	kernel.Exec

	// Observe, if not nil, is called after each message, by several goroutines at once: its kind,
	// such as "attend", the Code constant with which it was refused, "" if it was not, and the time
	// from its turn to its answer.
	Observe func(message, code string, took time.Duration)

	// Log, if not nil, gets a line about every message that was refused.
	Log *slog.Logger

	id string // [Worker.ID]; "" is one that is made up
}

// Worker holds blocks and answers messages until it is closed.
type Worker struct {
	config  WorkerConfig
	conn    *hub.Conn
	store   *store.Store
	service micro.Service
	slots   chan struct{} // one element for every message at work
	memory  partialsMemory
	sends   chan struct{}   // one for every message that has the worker send rows and wait for another worker
	ctx     context.Context // of all that the worker does; it ends with the worker
	cancel  context.CancelFunc
	cores   sync.Mutex // held by the message whose arithmetic runs: it uses all threads
	closed  sync.Once
	bucket  bucket
	keepers sync.WaitGroup
	found   atomic.Pointer[Copies] // in the directory
	leaving atomic.Bool
	notice  micro.Service // that says so
}

// Limits of what waits for a worker.
const (
	maxWaiting      = 1024
	maxWaitingBytes = 256 << 20
)

// NewWorker starts a worker on a connection that stays the caller's. The error is a
// [*kernel.Error], or comes from NATS.
func NewWorker(conn *hub.Conn, c WorkerConfig) (*Worker, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	w := &Worker{config: c, conn: conn, store: store.New(c.Memory), slots: make(chan struct{}, c.Concurrent), sends: make(chan struct{}, atOnce)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	var err error
	if w.service, err = conn.Announce(service, "holds keys and values, and computes attention over them", map[string]string{nameKey: c.id}); err != nil {
		return nil, fmt.Errorf("shard: %w", err)
	}
	for name, answer := range map[string]handler{"put": w.put, "attend": w.attend, "send": w.send, "free": w.free, "report": w.report, ping: pong} {
		slots := w.slots
		if name == "send" { // two workers that wait for each other must not keep each other from answering
			slots = w.sends
		}
		err := w.service.AddEndpoint(name, w.handler(name, answer, slots),
			micro.WithEndpointSubject(w.subject(name)), micro.WithEndpointPendingLimits(maxWaiting, maxWaitingBytes))
		if err != nil {
			w.Close()
			return nil, fmt.Errorf("shard: %w", err)
		}
	}
	if err := conn.Flush(); err != nil {
		w.Close()
		return nil, fmt.Errorf("shard: %w", err)
	}
	if c.Repair > 0 {
		k := newKeeper(w, c.Repair)
		w.keepers.Go(func() { k.keep(w.ctx) })
	}
	if c.Keep > 0 {
		o := &orphans{worker: w, keep: c.Keep, since: map[string]time.Time{}}
		w.keepers.Go(func() { o.run(w.ctx) })
	}
	return w, nil
}

// instanceSize is how many letters and digits tell apart workers of one name.
const instanceSize = 8

// newID returns an ID for a worker of a name.
func newID(name string) string { return name + "-" + rand.Text()[:instanceSize] }

// nameOf returns the name in an ID.
func nameOf(id string) string {
	if at := strings.LastIndexByte(id, '-'); at >= 0 {
		return id[:at]
	}
	return id
}

// ID is what other programs, and the directory, call the worker: its name, and letters that no
// earlier worker of the name had.
func (w *Worker) ID() string { return w.config.id }

// complete sets defaults and checks the configuration.
func (c *WorkerConfig) complete() error {
	c.Memory = cmp.Or(c.Memory, 1<<30)
	c.Concurrent = cmp.Or(c.Concurrent, 2)
	c.Repair = cmp.Or(c.Repair, 10*time.Second)
	c.Keep = cmp.Or(c.Keep, time.Minute)
	c.Threads = cmp.Or(c.Threads, runtime.GOMAXPROCS(0))
	c.id = cmp.Or(c.id, newID(c.Name))
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	switch {
	case !hub.IsToken(c.Name) || !hub.IsToken(c.id):
		return &kernel.Error{Where: "WorkerConfig.Name", Got: fmt.Sprintf("%q", c.Name), Want: "1 to 55 letters, digits, - and _"}
	case c.Memory < 0:
		return &kernel.Error{Where: "WorkerConfig.Memory", Got: fmt.Sprint(c.Memory), Want: "0 or more"}
	case c.Concurrent < 0:
		return &kernel.Error{Where: "WorkerConfig.Concurrent", Got: fmt.Sprint(c.Concurrent), Want: "0 or more"}
	}
	return c.Exec.Check()
}

func (w *Worker) subject(name string) string {
	return w.conn.Subject("shard", w.config.id, name)
}

// Usage is what a worker holds.
type Usage struct {
	Sequences, Blocks int
	Used, Limit       int64 // bytes
}

// Usage returns what the worker holds.
func (w *Worker) Usage() Usage { return Usage(w.store.Usage()) }

// Directory returns the copies of all blocks of the directory, as this worker has counted them
// last; it counts when workers come or go, and now and then. Without [WorkerConfig].Repair it does
// not.
func (w *Worker) Directory() Copies {
	if c := w.found.Load(); c != nil {
		return *c
	}
	return Copies{}
}

// Close ends the worker after the messages that it works on. Its blocks are gone: [Worker.Leave]
// copies them to others first. Leave must have returned.
func (w *Worker) Close() {
	w.closed.Do(func() {
		w.service.Stop()
		if w.notice != nil {
			w.notice.Stop()
		}
		w.cancel()
		w.keepers.Wait()
		for _, slots := range [...]chan struct{}{w.slots, w.sends} {
			for range cap(slots) {
				slots <- struct{}{}
			}
		}
	})
}

// handler makes an answer of a message.
type handler func(data []byte) ([]byte, error)

// handler returns a handler that checks the seal of messages and answers them, as many at a
// time as there are slots. The goroutine of a subscription waits for one, so that messages wait
// in NATS.
func (w *Worker) handler(name string, answer handler, slots chan struct{}) micro.Handler {
	return micro.HandlerFunc(func(r micro.Request) {
		select {
		case <-w.ctx.Done():
			return
		default:
		}
		select {
		case <-w.ctx.Done():
		case slots <- struct{}{}:
			go func() {
				defer func() { <-slots }()
				w.reply(r, name, answer)
			}()
		}
	})
}

// ping is the message to which a worker says nothing but that it is there.
const ping = "ping"

func pong([]byte) ([]byte, error) { return nil, nil }

func (w *Worker) reply(r micro.Request, name string, answer handler) {
	begin := time.Now()
	header := nats.Header(r.Headers())
	err := hub.CheckSeal(header, r.Data(), w.config.id+"."+name, "the sender")
	var data []byte
	if err == nil {
		data, err = answer(r.Data())
	}
	// Request.Respond and Error are for the goroutine of the subscription, which reads what
	// they leave in the request.
	reply := nats.NewMsg(r.Reply())
	reply.Data = data
	if err != nil {
		level := slog.LevelWarn
		if errors.Is(err, errMissing) { // whoever looks for the block says if nobody has it
			level = slog.LevelDebug
		}
		w.config.Log.Log(w.ctx, level, "refused", "subject", r.Subject(), "error", err)
		reply.Data = nil
		reply.Header.Set(micro.ErrorCodeHeader, code(err))
		reply.Header.Set(micro.ErrorHeader, err.Error())
	}
	if w.config.Observe != nil {
		w.config.Observe(name, reply.Header.Get(micro.ErrorCodeHeader), time.Since(begin))
	}
	hub.Seal(reply, header.Get(hub.SumHeader))
	if reply.Subject == "" {
		return // nobody wants an answer
	}
	if err := w.conn.PublishMsg(reply); err != nil {
		w.config.Log.Warn("no answer sent", "subject", r.Subject(), "error", err)
	}
}
