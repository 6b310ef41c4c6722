package relay

import (
	"context"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/micro"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/kernel"
)

// service is the name by which gateways and workers are found.
const (
	service        = "attn-relay"
	serviceVersion = "1.0.0"
)

// What a service says of itself, beside its version.
const (
	roleKey        = "role" // gateway or worker
	nameKey        = "worker"
	prefixKey      = "prefix"
	fingerprintKey = "fingerprint"
)

// appear says to others that a gateway or a worker is there, until it is stopped.
func appear(conn *hub.Conn, role, name, fingerprint string) (micro.Service, error) {
	s, err := micro.AddService(conn.Conn, micro.Config{
		Name: service, Version: serviceVersion, Description: "answers requests with models",
		Metadata:           map[string]string{roleKey: role, nameKey: name, prefixKey: conn.Prefix(), fingerprintKey: fingerprint, hub.VersionHeader: hub.Own.String()},
		QueueGroupDisabled: true,
	})
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	return s, nil
}

// others returns the gateways and workers of the cluster.
func others(ctx context.Context, conn *hub.Conn) ([]micro.Info, error) {
	all, err := conn.Services(ctx, service)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(i micro.Info) bool { return i.Metadata[prefixKey] != conn.Prefix() }), nil
}

// peerName says who a service is.
func peerName(i micro.Info) string {
	return fmt.Sprintf("the %s %s", i.Metadata[roleKey], i.Metadata[nameKey])
}

// fits returns an error of the kind [hub.ErrVersion] or [ErrFingerprint] if a worker of a fingerprint cannot be
// beside those that are there.
func fits(there []micro.Info, fingerprint string) error {
	for _, i := range there {
		if err := hub.ParseVersion(i.Metadata[hub.VersionHeader]).Check(peerName(i)); err != nil {
			return err
		}
		if want := i.Metadata[fingerprintKey]; want != fingerprint {
			return &kernel.Error{Where: "relay: the fingerprint", Got: fingerprint, Want: want + ", that of " + peerName(i) + ": with the same models, files and settings that change answers", Kind: ErrFingerprint}
		}
	}
	return nil
}
