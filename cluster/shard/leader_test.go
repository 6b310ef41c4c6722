package shard

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// The directory is asked again if its servers say nothing, or have no leader, and otherwise their
// first answer counts.
func TestAskAgain(t *testing.T) {
	for answer, again := range map[error]bool{
		context.DeadlineExceeded: true, errNoLeader: true, &jetstream.APIError{Code: 503, ErrorCode: clusterNotAvailable}: true,
		jetstream.ErrJetStreamNotEnabled: false, jetstream.ErrBucketNotFound: false, nil: false,
	} {
		asked := 0
		err := askAgain(t.Context(), func(context.Context) error {
			if asked++; asked == 1 {
				return answer
			}
			return nil
		})
		if asked > 1 != again || again && err != nil || !again && err != answer {
			t.Errorf("%v: asked %d times, %v", answer, asked, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := askAgain(ctx, func(context.Context) error { return errNoLeader }); err != errNoLeader {
		t.Errorf("after its end: %v", err)
	}
}
