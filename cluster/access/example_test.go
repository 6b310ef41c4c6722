package access_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/attn-go/attn/cluster/access"
	"github.com/attn-go/attn/cluster/hub"
)

// A server that only its users may connect to, as cluster keys and cluster serve -users do it. A
// reader may not hear what clients ask workers.
func Example() {
	keys, err := os.MkdirTemp("", "keys")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(keys)
	if err := access.Add(keys, hub.DefaultPrefix, "bob", access.RoleReader); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	server, err := hub.Serve(ctx, hub.ServerConfig{Port: -1, UsersFile: filepath.Join(keys, access.UsersFile)})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	_, err = hub.Connect(ctx, hub.Config{URL: server.URL()})
	fmt.Println("without a key:", err != nil)
	bob, err := hub.Connect(ctx, hub.Config{URL: server.URL(), NKeySeedFile: access.SeedFile(keys, "bob")})
	if err != nil {
		log.Fatal(err)
	}
	defer bob.Close()
	if _, err := bob.SubscribeSync(bob.Prefix() + ".shard.a.attend"); err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening to others:", errors.Is(bob.Flush(), hub.ErrPermission))

	// Output:
	// without a key: true
	// listening to others: true
}
