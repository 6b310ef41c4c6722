//go:build unix

package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
)

// upgrade says what another version has left, drops it with -yes and nobody of that version at
// work, and leaves what this version can read.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, "a")
	conn, err := hub.Connect(t.Context(), hub.Config{URL: p.url, Wait: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	upgrade := func(flags ...string) (string, error) {
		t.Helper()
		out, report, err := runCommand(t.Context(), append([]string{"upgrade", "-server", p.url}, flags...)...)
		return out + report, err
	}
	expect := func(text string, err error, lines ...string) {
		t.Helper()
		if err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		for _, line := range lines {
			if !strings.Contains(text, line) {
				t.Errorf("%q lacks %q", text, line)
			}
		}
	}
	client, err := newClient(t.Context(), conn, shard.Config{Heads: 1, HeadSize: 2, Timeout: callTimeout}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"new", "old", "damaged"} {
		if _, err := client.Create(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	text, err := upgrade("-yes")
	expect(text, err, "all is of version "+hub.Own.String())

	js, err := jetstream.New(conn.Conn)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), conn.StreamName("sequences"))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(data []byte){
		"old":     func(data []byte) { copy(data[bytes.IndexByte(data, ':'):], fmt.Sprint(":", hub.Wire+1)) }, // its first number
		"damaged": func(data []byte) { data[len(data)-1] ^= 1 },
	} {
		e, err := kv.Get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		data := e.Value()
		change(data)
		if _, err := kv.Put(t.Context(), name, data); err != nil {
			t.Fatal(err)
		}
	}
	other := fmt.Sprintf("%d.%d", hub.Wire+1, hub.Own.Contract)
	listed := []string{"sequence old: ", "sequence damaged: "}
	text, err = upgrade()
	expect(text, err, listed...)
	if strings.Contains(text, "sequence new") || strings.Contains(text, "dropped") {
		t.Errorf("%s", text)
	}

	worker, err := micro.AddService(conn.Conn, micro.Config{Name: "attn-shard", Version: "1.0.0", Metadata: map[string]string{hub.VersionHeader: other, "worker": "w", "prefix": conn.Prefix()}})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := upgrade("-yes"); err == nil || !strings.Contains(err.Error(), "worker w") || strings.Contains(text, "dropped") {
		t.Errorf("%v\n%s", err, text)
	}
	if err := worker.Stop(); err != nil {
		t.Fatal(err)
	}
	text, err = upgrade("-yes")
	expect(text, err, append(listed, "dropped sequence old", "dropped sequence damaged")...)
	text, err = upgrade()
	expect(text, err, "all is of version")
	if all := list(t, conn); len(all) != 1 || all[0].Name != "new" || all[0].Err != nil {
		t.Errorf("%v", all)
	}
	if err := shard.Forget(t.Context(), conn, "new"); err == nil {
		t.Error("an entry that can be read was forgotten")
	}
}
