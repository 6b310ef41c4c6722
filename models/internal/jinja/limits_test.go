package jinja

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// render renders a template within a limit and returns the units of work that it has charged.
func render(ctx context.Context, t *testing.T, source string, variables map[string]any, limit int64) (out Str, work int64, err error) {
	t.Helper()
	parsed, err := Parse(source)
	if err != nil {
		t.Fatalf("%.100q: %v", source, err)
	}
	r := newRunner(ctx, variables, limit)
	out, err = r.render(parsed)
	return out, limit - r.left, err
}

// names are the names of n variables with something after each.
func names(n int, after string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ", v%d%s", i, after)
	}
	return b.String()[2:]
}

// endless are templates that would not end, or take all memory.
var endless = []string{
	"{% macro f(" + names(4000, "") + ") %}{% endmacro %}{% for i in range(99999) %}{{ f() }}{{ f(" + names(2000, "=1") + ") }}{% endfor %}",
	"{% set x = [range(4000)] * 99999 %}{% for " + names(4000, "") + " in x %}{% endfor %}",
	strings.Repeat("{% for i in range(9) %}", 90) + "{{ nothing }}" + strings.Repeat("{% endfor %}", 90),
	"{{ '' * 9223372036854775807 }}",
	"{{ [] * 9223372036854775807 }}",
	"{{ 'a' * 9223372036854775807 }}",
	"{{ [1] * 9223372036854775807 }}",
	"{{ (range(99999) | list) * 2147483647 }}",
	"{% for i in range(99999) %}{% if i in range(99999) | reverse %}{% endif %}{% endfor %}",
	"{{ 'a'.center(2147483647) }}",
	"{{ 'a' | indent(1000000000000, true) }}",
	"{% for i in range(99999) %}{{ [1] | batch(99999, 2) | list | length }}{% endfor %}",
	"{% for i in range(99999) %}{{ [1] | slice(99999) | list | length }}{% endfor %}",
	"{% set x = 'ab' * 50000 %}{% for i in range(99999) %}{{ '{0}{0}{0}'.format(x) | length }}{% endfor %}",
	"{% for i in range(99999) %}{% for i in range(99999) %}{% for i in range(9999) %}{% endfor %}{% endfor %}{% endfor %}",
	"{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}",
	"{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}",
	"{% set n = namespace(x=[1]) %}{% for i in range(90) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
	"{% set n = namespace(x=[1]) %}{% for i in range(90) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | tojson }}",
	"{% set n = namespace(x=[1]) %}{% for i in range(90) %}{% set n.x = {1: n.x, 2: n.x} %}{% endfor %}{{ n.x == n.x }}",
	"{% for i in range(99999) %}{{ range(99999) | unique | list | length }}{{ range(99999) | map('string') | unique | list | length }}{% endfor %}",
	"{% set x = 'ab' * 50000 %}{% for i in range(99999) %}{{ x.split('a') | length }}{% endfor %}",
	"{% set x = 'ab' * 50000 %}{% for i in range(99999) %}{{ x | replace('a', 'cd') | length }}{% endfor %}",
	"{% set x = 'ab' * 50000 %}{% for i in range(99999) %}{% if x ~ 'b' == x ~ 'c' %}{% endif %}{% endfor %}",
	"{% set x = 'ab' * 50000 %}{% for i in range(99999) %}{% if x in {x: 1} or 'b' == x or x == x %}{% endif %}{% endfor %}",
	"{% set x = 'a b' * 50000 %}{% for i in range(99999) %}{{ x.strip(x ~ 'c') }}{{ x.split() | length }}{% endfor %}",
	"{% for i in range(99999) %}{{ ('a\\n' * 9999) | indent(99) }}{% endfor %}",
}

// once is the most that these templates charge for at once, for copies of strings and lists.
const once = 4 << 20

// An endless template ends at its limit, has taken less memory than that allows, and asks the
// context all the time.
func TestEndless(t *testing.T) {
	const limit = 1 << 24
	for _, source := range endless {
		var ctx *asked
		var work int64
		var err error
		taken := allocated(func() (most int64) {
			ctx = &asked{Context: t.Context()}
			_, work, err = render(ctx, t, source, nil, limit)
			return 2 * limit
		})
		if err == nil || !strings.Contains(err.Error(), "more work than a template may do") {
			t.Errorf("%.200s: error %v", source, err)
		}
		if taken > 0 {
			t.Errorf("%.200s: takes %d bytes of memory within a limit of %d units", source, taken, limit)
		}
		if least := int(work / (askEvery + once)); ctx.times < least {
			t.Errorf("%.200s: asks the context %d times, want %d or more", source, ctx.times, least)
		}
	}
}

// What would take too much memory at once ends before it takes any.
func TestAtOnce(t *testing.T) {
	for _, source := range []string{
		"{{ '%2147483647d' % 1 }}", "{{ '%.2147483647f' % 1 }}", "{{ '%*d' % (2147483647, 1) }}", "{{ '%2147483647s' % 'a' }}",
		"{{ '{:>2147483647}'.format('a') }}", "{{ '{:.2147483647f}'.format(1.5) }}", "{{ '{:02147483647,d}'.format(1) }}", "{{ [1] | tojson(indent=2147483647) }}",
	} {
		taken := allocated(func() (most int64) {
			if _, _, err := render(t.Context(), t, source, nil, 1<<24); err == nil || !strings.Contains(err.Error(), "more work than a template may do") {
				t.Errorf("%s: error %v", source, err)
			}
			return 1 << 20
		})
		if taken > 0 {
			t.Errorf("%s: takes %d bytes", source, taken)
		}
	}
}

// asked is a context that counts how often it is asked and is cancelled at some time, if that is
// not 0.
type asked struct {
	context.Context
	times, cancelled int
}

func (c *asked) Err() error {
	if c.times++; c.times == c.cancelled {
		return context.Canceled
	}
	return nil
}

// Rendering ends when it finds the context cancelled, at the next question.
func TestCancel(t *testing.T) {
	for _, source := range endless {
		for _, cancelled := range []int{1, 7} {
			ctx := &asked{t.Context(), 0, cancelled}
			_, work, err := render(ctx, t, source, nil, 1<<28)
			if err == nil || !strings.HasPrefix(err.Error(), "line 1: context canceled, ") || ctx.times != cancelled {
				t.Errorf("%.200s: error %v after %d questions, want %v after %d", source, err, ctx.times, context.Canceled, cancelled)
			}
			if most := int64(cancelled) * (askEvery + once); work > most {
				t.Errorf("%.200s: %d units of work until question %d, want at most %d", source, work, cancelled, most)
			}
		}
	}
}

// Values, evaluations and blocks within each other end at their limits, before the stack does.
func TestDepth(t *testing.T) {
	wrap := strings.Repeat("(", 90) + "n.x" + strings.Repeat(", 1)", 90)
	deep := func(over string) string {
		return "{% set n = namespace(x=1) %}{% for i in range(60000) %}{% set n.x = " + over + " %}{% endfor %}"
	}
	for source, message := range map[string]string{
		deep(wrap) + "{{ [n.x] | sort }}":          "values nested deeper than 100",
		deep(wrap) + "{{ [n.x] | unique }}":        "values nested deeper than 100",
		deep("[n.x]") + "{{ n.x }}":                "values nested deeper than 100",
		deep("{1: n.x}") + "{{ n.x | tojson }}":    "values nested deeper than 100",
		deep("[n.x] + [n.x]") + "{{ n.x == n.x }}": "values nested deeper than 100",
		deep("[n.x] * 2") + "{{ n.x < n.x }}":      "values nested deeper than 100",
		deep("dict(a=n.x)"):                        "values nested deeper than 100",
		deep("{1: n.x} | items | list"):            "values nested deeper than 100",
		"{% set n = namespace(x=[1]) %}{% for i in range(60000) %}{% set n.x = n.x | map('string') %}{% endfor %}{{ n.x | list }}":         "evaluations nested deeper than 4000",
		"{% set n = namespace(x=[1]) %}{% for i in range(60000) %}{% set n.x = n.x | unique %}{% endfor %}{{ n.x | first }}":               "evaluations nested deeper than 4000",
		"{% set n = namespace() %}{% set n.x = n %}{{ n }}":                                                                                "evaluations nested deeper than 4000",
		"{% set n = namespace() %}{% set n.x = [n] %}{{ n }}":                                                                              "evaluations nested deeper than 4000",
		"{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}":                                                                          "evaluations nested deeper than 4000",
		"{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}{{ f() }}":                                                  "evaluations nested deeper than 4000",
		"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}":                                                                                  "evaluations nested deeper than 4000",
		"{% macro f(a=f()) %}{% endmacro %}{{ f() }}":                                                                                      "evaluations nested deeper than 4000",
		"{{ ''" + strings.Repeat(" | trim", 9000) + " }}":                                                                                  "evaluations nested deeper than 4000",
		"{{ ''" + strings.Repeat(".a", 30000) + " }}":                                                                                      "evaluations nested deeper than 4000",
		"{{ 1" + strings.Repeat(" + 1", 9000) + " }}":                                                                                      "evaluations nested deeper than 4000",
		"{{ 1" + strings.Repeat(" and 1", 9000) + " }}":                                                                                    "evaluations nested deeper than 4000",
		"{{ 1" + strings.Repeat(" if 1", 9000) + " }}":                                                                                     "evaluations nested deeper than 4000",
		"{% macro f() %}{{ f()" + strings.Repeat(" | trim", 4000) + " }}{% endmacro %}{{ f() }}":                                           "evaluations nested deeper than 4000",
		"{% macro f() %}" + strings.Repeat("{% if 1 %}", 90) + "{{ f() }}" + strings.Repeat("{% endif %}", 90) + "{% endmacro %}{{ f() }}": "evaluations nested deeper than 4000",
		deep("(n.x ~ 1)"+strings.Repeat(" ~ 1", 900)) + "{{ 1" + strings.Repeat(" ~ 1", 900) + " }}":                                       "more work",
	} {
		_, _, err := render(t.Context(), t, source, nil, 1<<30)
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%.120s: got error %v, want %q", source, err, message)
		}
	}
}

// A range whose next number would not fit 32 bits ends, also where an int has no more.
func TestRangeEnds(t *testing.T) {
	for source, want := range map[string]string{
		"{{ range(9223372036854775000, 9223372036854775807, 500) | list }}": "[9223372036854775000, 9223372036854775500]",
		"{{ range(2147483000, 2147483647, 1000) | list }}":                  "[2147483000]",
		"{{ range(-2147483000, -2147483648, -1000) | list }}":               "[-2147483000]",
		"{{ range(0, 2147483647, 2147483646) | list }}":                     "[0, 2147483646]",
	} {
		out, _, err := render(t.Context(), t, source, nil, 1<<20)
		if err != nil || out.String() != want {
			t.Errorf("%s: got %.100q, %v, want %q", source, out, err, want)
		}
	}
}

// Strings of many parts are cut, split and joined in time in proportion to their size.
func TestManyParts(t *testing.T) {
	variables := map[string]any{"r": Outside("user")}
	const many = "{% set p = ([r, 'x'] * 100000) | join %}"
	for source, want := range map[string]string{
		many + "{{ p.split('x') | length }}":                         "100001",
		many + "{{ p.split('user') | join == 'x' * 100000 }}":        "True",
		many + "{{ (p | replace('x', '\\n')).splitlines() | last }}": "user",
		many + "{{ (p | replace('x', ' ')).split() | length }}":      "100000",
		many + "{{ p | replace('x', '\\n') | indent(1) | length }}":  "599999",
		many + "{{ p | upper | length }}{{ p[1:-1] | length }}":      "500000499998",
	} {
		out, work, err := render(t.Context(), t, source, variables, 1<<30)
		if err != nil || out.String() != want || work > 300_000_000 {
			t.Errorf("%.200s: got %.100q, %v after %d units, want %q", source, out, err, work, want)
		}
	}
}
