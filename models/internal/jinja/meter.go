package jinja

import (
	"context"
	"fmt"
)

// meter limits what a rendering does. Whatever takes time, memory or stack is charged here, before
// it is done.
//
// Work is counted in units, which take some nanoseconds at most. Memory is charged for as if
// nothing were ever freed, by the units of work that a byte costs: so one limit bounds both.
type meter struct {
	ctx   context.Context
	line  int   // of the statement that is run
	left  int64 // units of work
	ask   int64 // ctx is asked when there is less left
	depth int   // of evaluations within each other
}

// units of work
const (
	nodeCost  = 4       // of evaluating an expression or a statement
	callCost  = 16      // of calling an operation
	scopeCost = 64      // of making a scope
	byteCost  = 4       // of a byte of memory
	askEvery  = 1 << 14 // between two questions to ctx
)

// bytes of memory
const (
	slotSize  = 16  // of a value in a list
	boxSize   = 48  // of a string outside of it
	nameSize  = 64  // of a variable in a scope
	entrySize = 128 // of an entry of a mapping
)

const (
	maxDepth   = 4000 // of evaluations and blocks within each other
	maxNesting = 100  // of values within each other
)

// fail ends rendering.
func (m *meter) fail(format string, args ...any) {
	panic(failed(m.line, fmt.Sprintf(format, args...)))
}

// spend charges for units of work.
func (m *meter) spend(units int64) {
	if m.left -= units; m.left < 0 {
		m.fail("more work than a template may do")
	}
	if m.left < m.ask {
		m.ask = m.left - askEvery
		if err := m.ctx.Err(); err != nil {
			m.fail("%v", err)
		}
	}
}

// work charges for n steps, such as reading n bytes.
func (m *meter) work(n int) { m.spend(int64(n)) }

// memory charges for bytes that are about to be taken, and for writing them.
func (m *meter) memory(bytes int) { m.spend(byteCost * int64(bytes)) }

// search charges for looking for a string in another. Functions of package strings are quick where
// few places begin like what they look for, and may compare all of it at every few bytes.
func (m *meter) search(in, what string) { m.spend(int64(len(in)) * (1 + int64(len(what))/256)) }

// down enters an evaluation that lies within another one, which takes stack. up leaves it.
func (m *meter) down() {
	if m.depth++; m.depth > maxDepth {
		m.fail("evaluations nested deeper than %d", maxDepth)
	}
}

func (m *meter) up() { m.depth-- }

// nested checks the depth of a value that is being made, so that functions may recurse over values.
func (m *meter) nested(depth int) {
	if depth > maxNesting {
		m.fail("values nested deeper than %d", maxNesting)
	}
}
