package promptcache

import "context"

// Pages are the pages of a model in a cache.
type Pages struct {
	*Cache
	First Key
	Size  int // tokens of one
}

// A Page is some tokens of a text with what [decoder.Text.Save] has written of them.
type Page struct {
	Key    Key
	Tokens []int32
	Data   []byte
}

// Key returns the key of the page that ends with the last of some tokens, which are whole pages.
func (p *Pages) Key(tokens []int32) Key {
	k := p.First
	for ; len(tokens) > 0; tokens = tokens[p.Size:] {
		k = k.Next(tokens[:p.Size])
	}
	return k
}

// A Reader reads pages ahead of who takes them.
type Reader struct {
	pages chan Page
	stop  context.CancelFunc
}

// pagesAhead is how many pages wait to be taken, each of which takes its memory twice.
const pagesAhead = 2

// Ahead begins to read the whole pages of a text after its first done ones, until one is missing.
// It calls ready, which must not block, when there is something to take. Stop ends it.
func (p *Pages) Ahead(ctx context.Context, tokens []int32, done int, ready func()) *Reader {
	ctx, stop := context.WithCancel(ctx)
	r := &Reader{make(chan Page, pagesAhead), stop}
	go func() {
		defer ready()
		defer close(r.pages)
		k := p.Key(tokens[:done*p.Size])
		for rest := tokens[done*p.Size:]; len(rest) >= p.Size; rest = rest[p.Size:] {
			k = k.Next(rest[:p.Size])
			data := p.Get(ctx, k)
			if data == nil {
				return
			}
			select {
			case r.pages <- Page{k, rest[:p.Size], data}:
				ready()
			case <-ctx.Done():
				return
			}
		}
	}()
	return r
}

// Take returns the next page, if it is there. After the last one more is false.
func (r *Reader) Take() (page *Page, more bool) {
	select {
	case p, ok := <-r.pages:
		if !ok {
			return nil, false
		}
		return &p, true
	default:
		return nil, true
	}
}

// Stop ends the reading.
func (r *Reader) Stop() { r.stop() }

// A Writer writes pages behind who makes them.
type Writer struct {
	pages chan Page
	done  chan struct{}
}

// pagesBehind is how many pages wait to be written.
const pagesBehind = 2

// Behind returns what writes pages until it is closed. It calls ready, which must not block, when
// there is room for another one.
func (p *Pages) Behind(ctx context.Context, ready func()) *Writer {
	w := &Writer{make(chan Page, pagesBehind), make(chan struct{})}
	go func() {
		defer close(w.done)
		for page := range w.pages {
			p.Put(ctx, page.Key, page.Data)
			ready()
		}
	}()
	return w
}

// Full tells whether Put would wait.
func (w *Writer) Full() bool { return len(w.pages) == cap(w.pages) }

// Put has a page written. It is for one goroutine at a time.
func (w *Writer) Put(p Page) { w.pages <- p }

// Close waits until all pages are written.
func (w *Writer) Close() {
	close(w.pages)
	<-w.done
}
