package batch

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/promptcache"
)

// Errors of [Scheduler.Submit].
var (
	ErrLong  = errors.New("batch: the text would not fit into the cache")
	ErrEmpty = errors.New("batch: the prompt has no token")
)

// panicked returns the error of requests in whose step there was a panic of a value: a
// [*kernel.TaskPanic].
func panicked(value any) error {
	if p, ok := value.(*kernel.TaskPanic); ok { // of another goroutine, with its stack
		return p
	}
	return &kernel.TaskPanic{Value: value, Stack: debug.Stack()}
}

// A Task is a text that is to be continued, one choice of a request.
type Task struct {
	// Context ends the task, whose error Done gets then.
	Context context.Context

	// Key says whose task it is. Keys share the model fairly.
	Key string

	// Prompt are the tokens to begin with, at least one. They do not change.
	Prompt []int32

	// Most is the number of tokens that the text may have in the end, the last of which no step
	// reads.
	Most int

	// Read, if not nil, gets the logits after each token of Prompt but the last one, at its index,
	// before Next is first called; once more, if the text was dropped before that to be computed
	// again. It must not block, or keep logits. Until then the text shares no tokens with others at
	// its beginning.
	Read func(at int, logits []float32) error

	// Next chooses the token that follows tokens, and says whether the text ends with it or before
	// it. It must not block, or change or keep its arguments. Done follows it if the text has
	// ended.
	Next func(logits []float32, tokens []int32) (id int32, end bool, err error)

	// Done is called once after Submit has returned nil, with nil if the text has ended by itself.
	// It must not block.
	Done func(error)

	// The scheduler's own.
	tokens []int32       // prompt and answer
	done   int           // tokens that text has read
	text   *decoder.Text // nil while it waits
	shared *node         // pages that text shares with the tree
	line   *line[*Task]
	answer bool                // it has chosen a token
	reader *promptcache.Reader // of pages that are kept outside, nil for none
	loaded span                // tokens that were read from saved pages

	draft   *decoder.Text // of the draft model, nil before the first guesses
	guesses []int32       // of the step
	large   bool          // the draft model had no room for it
}

// Options are the settings of a [Scheduler].
type Options struct {
	// Open makes the session, at first and after a panic.
	Open func() (Session, error)

	Pages   int                  // of the session
	Page    int                  // tokens of one
	Needs   func(tokens int) int // pages that a text of so many tokens needs, see [decoder.Model.Pages]; nil: those that hold so many tokens
	Running int                  // most requests at once; others wait
	Step    int                  // most tokens of prompts in a step in which no answer gets a token
	Chunk   int                  // most tokens of prompts in other steps
	Waiting int                  // most requests that wait
	PerKey  int                  // most requests of one key that wait

	Draft *Draft // nil for none
	Ahead int    // most guesses of a text in a step by the layer of the model, for which Open calls [decoder.Session.OpenAhead]; without Draft

	// Saved, if not nil, keeps pages outside of the session, from one program to the next.
	Saved *promptcache.Pages

	// Turn is the scheduler's share of the cores; nil means that it has them alone.
	Turn *Turn
}

// A Scheduler runs the tasks of a model. Submit and Stats are for any number of goroutines.
type Scheduler struct {
	o       Options
	session Session
	drafts  *drafts
	tree    *tree
	running []*Task // in the order in which they began
	steps   []decoder.Step
	stepped []*Task             // of steps
	writer  *promptcache.Writer // of pages, while Run runs

	entrance[*Task]
	stats Stats
}

// Stats are numbers of what a Scheduler does.
type Stats struct {
	Running, Waiting       int
	Free, Kept, Pages      int    // pages: free, of prefixes that are kept and not in use, all
	Steps                  uint64 // that were computed
	Read, Generated        uint64 // tokens of prompts that were computed, tokens of answers
	Shared                 uint64 // tokens of prompts that were not computed, as another text had them
	Loaded                 uint64 // tokens of texts that were not computed, as Options.Saved had them
	Guessed, Right         uint64 // tokens that were guessed, and that are in answers
	Preempted, Done, Ended uint64 // requests: dropped to be computed again, finished, ended otherwise
	Panics                 uint64
}

// New returns a scheduler, which does nothing before Run.
func New(o Options) (*Scheduler, error) {
	s := &Scheduler{o: o, entrance: entrance[*Task]{wake: make(chan struct{}, 1)}}
	return s, s.open()
}

// open begins with a new session.
func (s *Scheduler) open() error {
	session, err := s.o.Open()
	if err != nil {
		return err // and whatever came with it is no session
	}
	if s.drafts, err = s.o.Draft.open(); err != nil {
		return err
	}
	s.session, s.tree = session, newTree(s.o.Page)
	s.tree.saves = s.o.Saved != nil
	return nil
}

// Submit lets a task wait for its turn.
func (s *Scheduler) Submit(t *Task) error {
	if err := s.Ready(); err != nil {
		return err
	}
	switch {
	case len(t.Prompt) == 0:
		return ErrEmpty
	case t.Most <= len(t.Prompt) || s.pages(t.Most-1)+s.pages(1) > s.o.Pages:
		return ErrLong // one page of each group of layers is left for the copy of a page that is shared
	}
	t.tokens = slices.Clone(t.Prompt)
	return s.submit(t.Key, t, s.o.Waiting, s.o.PerKey)
}

// Stats returns the numbers as they were after the last step.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Waiting = s.waiting.count
	return stats
}

// Run computes steps until ctx ends. What has not ended then ends with ErrClosed, as does what
// is submitted later.
func (s *Scheduler) Run(ctx context.Context) {
	defer s.writing(ctx)()
	s.run(ctx, s.o.Turn, s.step)
	s.endAll(ErrClosed)
}

// step computes one step, and tells whether there was something to do. After a panic, the requests
// of the step end, and a new session begins.
func (s *Scheduler) step(ctx context.Context) (worked bool) {
	defer func() {
		if x := recover(); x != nil {
			worked = true
			s.recovered(panicked(x))
		}
		s.count()
	}()
	s.part()
	s.admit()
	if moved := s.exchange(); !s.computes() {
		return moved
	}
	s.o.Turn.Do(func() bool {
		s.compute(ctx)
		return len(s.running) > 0
	})
	return true
}

// recovered ends all running requests and begins with a new session, as nobody knows what state the
// old one is in. Without one, nothing goes on.
func (s *Scheduler) recovered(err error) {
	s.mu.Lock()
	s.stats.Panics++
	s.mu.Unlock()
	for len(s.running) > 0 {
		t := s.running[0]
		s.running = s.running[1:]
		t.text, t.shared, t.draft = nil, nil, nil
		t.stopReading()
		s.left(t.line)
		s.ended(t, err)
	}
	s.session, s.tree, s.drafts = nil, nil, nil
	runtime.GC() // the cache of the new session must not lie beside the old cache
	if err := s.open(); err != nil {
		s.close()
		s.endAll(err)
	}
}

// count brings the numbers up to date.
func (s *Scheduler) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Running, s.stats.Pages, s.stats.Free, s.stats.Kept = len(s.running), s.o.Pages, 0, 0
	if s.session != nil {
		s.stats.Free, s.stats.Kept = s.session.FreePages(), s.idle()
	}
}

// part ends the requests whose contexts have ended.
func (s *Scheduler) part() {
	for _, t := range slices.Clone(s.running) {
		if err := t.Context.Err(); err != nil {
			s.end(t, err)
		}
	}
	var gone []*Task
	s.mu.Lock()
	s.waiting.remove(func(t *Task) bool {
		if t.Context.Err() != nil {
			gone = append(gone, t)
			return true
		}
		return false
	})
	s.mu.Unlock()
	for _, t := range gone {
		s.ended(t, t.Context.Err())
	}
}

// endAll ends all requests.
func (s *Scheduler) endAll(err error) {
	for len(s.running) > 0 {
		s.end(s.running[0], err)
	}
	for {
		s.mu.Lock()
		t, _, ok := s.waiting.take(func(*Task) bool { return true })
		s.mu.Unlock()
		if !ok {
			break
		}
		s.ended(t, err)
	}
	s.count()
}

// end ends a running request. The pages of an answer that is complete stay as a prefix.
func (s *Scheduler) end(t *Task, err error) {
	if err == nil {
		err = s.tree.keep(t.text, t.tokens[:t.done], t.loaded)
	}
	err = cmp.Or(err, s.release(t))
	s.left(t.line)
	s.ended(t, err)
}

// left says that work of a key is over.
func (s *Scheduler) left(l *line[*Task]) {
	s.mu.Lock()
	l.users--
	s.mu.Unlock()
}

// release takes a request out of those that run and gives its pages back.
func (s *Scheduler) release(t *Task) error {
	s.running = slices.DeleteFunc(s.running, func(u *Task) bool { return u == t })
	t.stopReading()
	t.text.Free()
	s.tree.unpin(t.shared)
	t.text, t.shared, t.done = nil, nil, 0
	return s.drafts.end(t)
}

// ended counts a request that has ended and tells it.
func (s *Scheduler) ended(t *Task, err error) {
	s.mu.Lock()
	if err == nil {
		s.stats.Done++
	} else {
		s.stats.Ended++
	}
	s.mu.Unlock()
	t.Done(err)
}

// pages returns the number of pages that a text of so many tokens needs.
func (s *Scheduler) pages(tokens int) int {
	if s.o.Needs != nil {
		return s.o.Needs(tokens)
	}
	return (tokens + s.o.Page - 1) / s.o.Page
}

// windows tells whether a long text needs fewer pages than its tokens take.
func (s *Scheduler) windows() bool {
	const many = 1 << 20
	return s.pages(many*s.o.Page) < many*s.pages(1)
}

// idle returns how many pages prefixes have that nobody uses. Beside running texts it is a guess
// where windows were dropped.
func (s *Scheduler) idle() int {
	held := s.o.Pages - s.session.FreePages()
	if len(s.running) == 0 {
		return held
	}
	return min(s.tree.idle()*s.pages(1), held)
}
