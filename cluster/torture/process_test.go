//go:build unix

package torture

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// A process is a run of the command cluster.
type process struct {
	args  []string
	cmd   *exec.Cmd
	ready chan string   // gets the first line that says that it is at work
	done  chan struct{} // closed when it has ended

	mu   sync.Mutex
	text strings.Builder // the end of what it said
}

// mostText is how many bytes of what a process says are kept.
const mostText = 1 << 16

// start starts a process. A line with ready says that it is at work.
func start(program, ready string, args ...string) (*process, error) {
	p := &process{args: args, cmd: exec.Command(program, args...), ready: make(chan string, 1), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.cmd.Stderr = w, w
	err = p.cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	go func() {
		p.read(r, ready)
		r.Close()
		p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// read keeps what the process says until its end.
func (p *process) read(r io.Reader, ready string) {
	for s := bufio.NewScanner(r); s.Scan(); {
		p.mu.Lock()
		if p.text.Len() < mostText {
			fmt.Fprintln(&p.text, s.Text())
		}
		p.mu.Unlock()
		if strings.Contains(s.Text(), ready) {
			select {
			case p.ready <- s.Text():
			default:
			}
		}
	}
}

// wait waits until the process is at work, and returns the line that says so, or an error if it ends before.
func (p *process) wait() (line string, err error) {
	select {
	case line := <-p.ready:
		return line, nil
	case <-p.done:
		return "", fmt.Errorf("cluster %s: %v:\n%s", strings.Join(p.args, " "), p.cmd.ProcessState, p.said())
	}
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// ended tells whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill is kill -9. It waits until the process is gone.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

func (p *process) signal(s syscall.Signal) { p.cmd.Process.Signal(s) }
