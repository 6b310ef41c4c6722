package relay

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/micro"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/kernel"
)

// What gateways and workers say of themselves to those who look for them.
const (
	service        = "attn-relay"
	roleKey        = "role" // gateway or worker
	nameKey        = "worker"
	fingerprintKey = "fingerprint"
)

// appear says to others that a gateway or a worker is there, until it is stopped.
func appear(conn *hub.Conn, role, name, fingerprint string) (micro.Service, error) {
	s, err := conn.Announce(service, "answers requests with models", map[string]string{roleKey: role, nameKey: name, fingerprintKey: fingerprint})
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	return s, nil
}

// A Peer is a gateway, or a worker of gateways.
type Peer struct {
	Role        string `json:"role"` // gateway or worker
	Name        string `json:"name"`
	Version     string `json:"version"`     // of messages and numeric contract
	Fingerprint string `json:"fingerprint"` // "" for a gateway that has found no worker yet
}

// Peers returns the gateways and workers of a cluster, sorted. The error comes from NATS or ctx.
func Peers(ctx context.Context, conn *hub.Conn) ([]Peer, error) {
	found, err := conn.Services(ctx, service)
	all := []Peer{}
	for _, i := range found {
		m := i.Metadata
		all = append(all, Peer{m[roleKey], m[nameKey], m[hub.VersionHeader], m[fingerprintKey]})
	}
	slices.SortFunc(all, func(a, b Peer) int { return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Name, b.Name)) })
	return all, err
}

// peerName says who a service is.
func peerName(i micro.Info) string {
	return fmt.Sprintf("the %s %s", i.Metadata[roleKey], i.Metadata[nameKey])
}

// fits returns an error of the kind [hub.ErrVersion] or [ErrFingerprint] if a worker of a
// fingerprint cannot be beside those that are there.
func fits(there []micro.Info, fingerprint string) error {
	for _, i := range there {
		if err := hub.ParseVersion(i.Metadata[hub.VersionHeader]).Check(peerName(i)); err != nil {
			return err
		}
		if want := i.Metadata[fingerprintKey]; want != "" && want != fingerprint {
			return &kernel.Error{Where: "relay: the fingerprint", Got: fingerprint, Want: want + ", that of " + peerName(i) + ": with the same models, files and settings that change answers", Kind: ErrFingerprint}
		}
	}
	return nil
}
