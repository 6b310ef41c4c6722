package server

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A browser shows the page of a server in headless Chromium, which is told what to do by its
// DevTools protocol over two pipes: messages of JSON that end with a zero byte
// (https://chromedevtools.github.io/devtools-protocol/).
type browser struct {
	t       *testing.T
	to      *os.File
	session string // of the page

	mu       sync.Mutex
	sent     int
	answers  map[int]chan envelope
	problems []string // of the console, and exceptions
	ended    error
}

// An envelope goes to Chromium or comes from it: a call, its answer or an event.
type envelope struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// object is a JSON object.
type object = map[string]any

// newBrowser opens the page.
func newBrowser(t *testing.T, url string) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = cmp.Or(path, found)
		}
	}
	if path == "" || runtime.GOOS == "windows" { // where a program inherits no pipes
		t.Skip("NOT RUN: the server's page in a browser, because chromium is not installed (apt-get install chromium), or this is Windows")
	}
	b := &browser{t: t, answers: map[int]chan envelope{}}
	b.start(path)
	target := call[struct{ TargetID string }](b, "Target.createTarget", object{"url": "about:blank"})
	b.session = call[struct{ SessionID string }](b, "Target.attachToTarget", object{"targetId": target.TargetID, "flatten": true}).SessionID
	for _, domain := range []string{"Runtime", "Log", "Page"} {
		b.do(domain+".enable", nil)
	}
	b.do("Page.navigate", object{"url": url})
	b.until(`document.readyState === "complete" && (!document.getElementById("nav").hidden || !document.getElementById("view-key").hidden)`)
	return b
}

// start starts Chromium, which ends with the test.
func (b *browser) start(path string) {
	read, to, err := os.Pipe()
	if err != nil {
		b.t.Fatal(err)
	}
	from, write, err := os.Pipe()
	if err != nil {
		b.t.Fatal(err)
	}
	b.to = to
	c := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--proxy-server=direct://",
		"--user-data-dir="+b.t.TempDir(), "--remote-debugging-pipe")
	c.ExtraFiles = []*os.File{read, write}
	if err := c.Start(); err != nil {
		b.t.Fatal(err)
	}
	read.Close()
	write.Close()
	heard := make(chan bool)
	go func() {
		defer close(heard)
		b.listen(from)
	}()
	b.t.Cleanup(func() {
		b.session = ""
		b.do("Browser.close", nil)
		<-heard
		c.Wait()
		to.Close()
		from.Close()
	})
}

// listen hands answers to those who wait for them, and notes what the console says.
func (b *browser) listen(from *os.File) {
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadBytes(0)
		var m envelope
		if err == nil {
			err = json.Unmarshal(line[:len(line)-1], &m)
		}
		b.mu.Lock()
		switch {
		case err != nil:
			b.ended = err
			for id, answer := range b.answers {
				close(answer)
				delete(b.answers, id)
			}
		case m.ID > 0:
			b.answers[m.ID] <- m
			delete(b.answers, m.ID)
		case m.Method == "Runtime.exceptionThrown" || m.Method == "Log.entryAdded":
			b.problems = append(b.problems, string(m.Params))
		}
		b.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// do calls a method.
func (b *browser) do(method string, params object) json.RawMessage {
	b.t.Helper()
	data, err := json.Marshal(params)
	if err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	b.sent++
	m, answer := envelope{ID: b.sent, Session: b.session, Method: method, Params: data}, make(chan envelope, 1)
	if params == nil {
		m.Params = nil
	}
	if b.ended == nil {
		b.answers[m.ID] = answer
	} else {
		close(answer)
	}
	b.mu.Unlock()
	if data, err = json.Marshal(m); err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(data, 0)); err != nil {
		b.t.Fatal(err)
	}
	got, ok := <-answer
	if !ok || got.Error != nil {
		b.t.Fatalf("%s: %s, %v", data, got.Error, b.ended)
	}
	return got.Result
}

// call calls a method and returns its result.
func call[T any](b *browser, method string, params object) (to T) {
	b.t.Helper()
	if err := json.Unmarshal(b.do(method, params), &to); err != nil {
		b.t.Fatal(err)
	}
	return to
}

// evaluate returns the value of an expression.
func evaluate[T any](b *browser, expression string) T {
	b.t.Helper()
	got := call[struct {
		Result           struct{ Value T }
		ExceptionDetails json.RawMessage
	}](b, "Runtime.evaluate", object{"expression": expression, "returnByValue": true})
	if got.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, got.ExceptionDetails)
	}
	return got.Result.Value
}

// run executes a statement.
func (b *browser) run(statement string) {
	b.t.Helper()
	evaluate[any](b, "{ "+statement+"; undefined }")
}

// until waits until an expression is true.
func (b *browser) until(expression string) {
	b.t.Helper()
	for !evaluate[bool](b, expression) {
		time.Sleep(5 * time.Millisecond)
	}
}

// shown waits until an element can be seen.
func (b *browser) shown(id string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`document.getElementById(%q).checkVisibility()`, id))
}

// click clicks on an element.
func (b *browser) click(id string) {
	b.t.Helper()
	at := evaluate[[2]float64](b, fmt.Sprintf(`(() => { const e = document.getElementById(%q); e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`, id))
	for _, event := range []string{"mousePressed", "mouseReleased"} {
		b.do("Input.dispatchMouseEvent", object{"type": event, "x": at[0], "y": at[1], "button": "left", "clickCount": 1})
	}
}

// write writes a text into a field.
func (b *browser) write(id, text string) {
	b.t.Helper()
	b.run(fmt.Sprintf(`document.getElementById(%q).focus()`, id))
	b.do("Input.insertText", object{"text": text})
}

// keyCodes are those that are pressed, with their codes.
var keyCodes = map[string]int{"Tab": 9, "Enter": 13, "Escape": 27}

// press presses a key, perhaps with Shift.
func (b *browser) press(key string, shift ...bool) {
	b.t.Helper()
	event := object{"key": key, "code": key, "windowsVirtualKeyCode": keyCodes[key], "modifiers": 8 * len(shift)}
	if key == "Enter" {
		event["text"] = "\r"
	}
	for _, event["type"] = range []string{"keyDown", "keyUp"} {
		b.do("Input.dispatchKeyEvent", event)
		delete(event, "text")
	}
}

// set fills in a field.
func (b *browser) set(id, value string) {
	b.t.Helper()
	b.run(fmt.Sprintf(`const e = document.getElementById(%q); e.value = %q; e.dispatchEvent(new Event("change"))`, id, value))
}

// check reports what the console says beside some expected words.
func (b *browser) check(but ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		if !slices.ContainsFunc(but, func(word string) bool { return strings.Contains(p, word) }) {
			b.t.Errorf("the browser's console says %s", p)
		}
	}
}
