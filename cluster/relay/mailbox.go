package relay

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/attn-go/attn/cluster/hub"
)

// A mailbox gets what others have to say to this gateway or worker, and tells who of them is lost.
type mailbox struct {
	conn     *hub.Conn
	id       string // the subject of the mailbox, of which the server lets nobody else hear
	log      *slog.Logger
	patience time.Duration // how long one who is there may be silent
	sub      *nats.Subscription
	take     func(h *header, data []byte)
	asked    func(msg *nats.Msg) // gets requests for the owner itself; nil if it takes none

	mu    sync.Mutex
	peers map[string]*peer
}

// A peer is somebody for whom someone waits.
type peer struct {
	gone   map[*func()]bool // is called when it is lost
	cancel context.CancelFunc
}

// pingEvery is how often peers are asked whether they live.
const pingEvery = 200 * time.Millisecond

// pendingBytes is how much may wait for a mailbox: the windows of 1,024 answers.
const pendingBytes = 1024 * window

// openMailbox opens a mailbox; take and asked are called for one message after the other and must
// not wait.
func openMailbox(conn *hub.Conn, patience time.Duration, log *slog.Logger, take func(h *header, data []byte), asked func(msg *nats.Msg)) (*mailbox, error) {
	m := &mailbox{conn: conn, id: conn.NewInbox(), log: log, patience: patience, take: take, asked: asked, peers: map[string]*peer{}}
	var err error
	if m.sub, err = conn.Subscribe(m.id, m.receive); err != nil {
		return nil, err
	}
	if err := m.sub.SetPendingLimits(-1, pendingBytes); err != nil {
		return nil, err
	}
	return m, conn.Flush()
}

// receive reads a message.
func (m *mailbox) receive(msg *nats.Msg) {
	h, err := unpack(msg)
	switch {
	case err != nil:
		m.log.Warn("refused a message", "error", err)
	case h.Kind == kindPing && (h.Call == "" || m.asked == nil):
		m.reply(msg, &header{Kind: kindPing, From: m.id})
	case (h.Kind == kindAsk || h.Kind == kindPing) && m.asked != nil:
		m.asked(msg)
	default:
		m.take(h, msg.Data)
	}
}

// reply answers a message, if its sender wants that.
func (m *mailbox) reply(msg *nats.Msg, h *header) {
	if msg.Reply == "" {
		return
	}
	answer, err := pack(msg.Reply, h, nil)
	if err == nil {
		err = m.conn.PublishMsg(answer)
	}
	if err != nil {
		m.log.Warn("no answer sent", "error", err)
	}
}

// send sends a message to a peer.
func (m *mailbox) send(id string, h *header, data []byte) error {
	h.From = m.id
	msg, err := pack(id, h, data)
	if err != nil {
		return err
	}
	return m.conn.PublishMsg(msg)
}

// watch calls gone, once, if a peer is lost before stop is called: if the server says that it has
// ended, or if it does not answer.
func (m *mailbox) watch(id string, gone func()) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.peers[id]
	if p == nil {
		ctx, cancel := context.WithCancel(context.Background())
		p = &peer{map[*func()]bool{}, cancel}
		m.peers[id] = p
		go m.ask(ctx, id, p)
	}
	key := &gone
	p.gone[key] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(p.gone, key)
		m.forget(id, p)
	}
}

// forget ends the questions to a peer for whom nobody waits.
func (m *mailbox) forget(id string, p *peer) {
	if len(p.gone) == 0 && m.peers[id] == p {
		delete(m.peers, id)
		p.cancel()
	}
}

// ask asks a peer whether it lives until it is lost or nobody waits for it.
func (m *mailbox) ask(ctx context.Context, id string, p *peer) {
	for heard := time.Now(); hub.Pause(ctx, pingEvery) == nil; {
		err := m.ping(ctx, id, m.patience)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			heard = time.Now()
			continue
		case !errors.Is(err, nats.ErrNoResponders) && time.Since(heard) < m.patience:
			continue // the connection is away
		}
		m.log.Warn("lost", "peer", id, "error", err)
		m.mu.Lock()
		gone := p.gone
		p.gone = map[*func()]bool{}
		m.forget(id, p)
		m.mu.Unlock()
		for f := range gone {
			(*f)()
		}
		return
	}
}

// ping asks on a subject whether somebody is there.
func (m *mailbox) ping(ctx context.Context, subject string, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := m.request(ctx, subject, &header{Kind: kindPing}, nil)
	return err
}

// request sends a message and returns the answer.
func (m *mailbox) request(ctx context.Context, subject string, h *header, data []byte) (*header, error) {
	h.From = m.id
	msg, err := pack(subject, h, data)
	if err != nil {
		return nil, err
	}
	reply, err := m.conn.RequestMsgWithContext(ctx, msg)
	if err != nil {
		return nil, err
	}
	return unpack(reply)
}

// close ends the mailbox.
func (m *mailbox) close() {
	m.sub.Unsubscribe()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.peers {
		p.cancel()
	}
	clear(m.peers)
}
