package jinja

// node is an expression.
type node interface{ isNode() }

type (
	constant struct{ value any } // nil, bool, int64, float64 or string
	variable struct{ name string }
	listNode struct {
		items []node
		tuple bool
	}
	dictNode struct{ keys, values []node }

	// attribute is x.name, item is x[key], slice is x[from:to:step].
	attribute struct {
		of   node
		name string
	}
	item  struct{ of, key node }
	slice struct{ of, from, to, step node } // nil where nothing is written

	call struct {
		of   node
		args argNodes
	}
	filter struct {
		of   node // nil in a filter block
		name string
		args argNodes
	}
	test struct {
		of   node
		name string
		args argNodes
	}

	not  struct{ of node }
	sign struct {
		of       node
		negative bool
	}
	logic struct {
		left, right node
		or          bool
	}
	choice struct{ cond, yes, no node } // no may be nil
	binary struct {
		op          string
		left, right node
	}
	chain struct { // a < b < c
		first node
		ops   []string
		rest  []node
	}
)

type argNodes struct {
	positional   []node
	rest, others node // of *rest and **others, or nil
	names        []string
	named        []node
}

// statement is a part of a template.
type statement struct {
	line int
	do   doer
}

// doer is what a statement does.
type doer interface{ isStatement() }

type (
	output   struct{ text string }
	printing struct{ of []node }
	branch   struct {
		conds  []node
		bodies [][]statement
		other  []statement
	}
	loop struct {
		to         target
		over, cond node // cond may be nil
		body       []statement
		other      []statement
		recursive  bool

		frame, otherFrame *frame
	}
	set struct {
		to target
		of node
	}
	setBlock struct {
		to      target
		filters []filter
		body    []statement
		frame   *frame
	}
	filterBlock struct {
		filters []filter
		body    []statement
		frame   *frame
	}
	with struct {
		to   []target
		of   []node
		body []statement

		frame *frame
	}
	macro struct {
		name     string // "" of the body of a call block
		names    []string
		defaults []node // of the last names
		body     []statement
		frame    *frame

		varargs, kwargs, caller bool // whether it reads these
	}
	callBlock struct {
		caller *macro
		call   *call
	}
	leave  struct{ next bool } // break or continue
	scoped struct {
		body  []statement
		root  bool // whether it sees no more than the template's variables
		frame *frame
	}
	missing struct{ what string } // a block of jinja2 that is not here
)

// target is what a value can be assigned to: a name, an attribute of a namespace, or several of these.
type target interface{ isTarget() }

type (
	toName      string
	toAttribute struct{ of, name string }
	toAll       []target
)

func (*constant) isNode()  {}
func (*variable) isNode()  {}
func (*listNode) isNode()  {}
func (*dictNode) isNode()  {}
func (*attribute) isNode() {}
func (*item) isNode()      {}
func (*slice) isNode()     {}
func (*call) isNode()      {}
func (*filter) isNode()    {}
func (*test) isNode()      {}
func (*not) isNode()       {}
func (*sign) isNode()      {}
func (*logic) isNode()     {}
func (*choice) isNode()    {}
func (*binary) isNode()    {}
func (*chain) isNode()     {}

func (*output) isStatement()      {}
func (*printing) isStatement()    {}
func (*branch) isStatement()      {}
func (*loop) isStatement()        {}
func (*set) isStatement()         {}
func (*setBlock) isStatement()    {}
func (*filterBlock) isStatement() {}
func (*with) isStatement()        {}
func (*macro) isStatement()       {}
func (*callBlock) isStatement()   {}
func (*leave) isStatement()       {}
func (*scoped) isStatement()      {}
func (*missing) isStatement()     {}

func (toName) isTarget()       {}
func (*toAttribute) isTarget() {}
func (toAll) isTarget()        {}
