package jinja

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "github.com/attn-go/attn/models/internal/testweights" // the flag -refs
)

// charged are templates' uses of every operation on large values, several with spaces between
// them. Going over each value whose name is in upper case must be charged for, at least once. A
// name in lower case stands for the same value, of which the operation reads an item at most.
var charged = map[string]string{
	"filter trim":       "TEXT|trim BLANK|trim PARTS|trim(TEXT) LIST|trim",
	"filter upper":      "TEXT|upper PARTS|upper LIST|upper",
	"filter lower":      "TEXT|lower PARTS|lower",
	"filter title":      "TEXT|title PARTS|title",
	"filter capitalize": "TEXT|capitalize PARTS|capitalize",
	"filter replace":    "TEXT|replace('a','xyz') PARTS|replace('x',PARTS[:99]) TEXT|replace(PARTS,TEXT) LIST|replace(',','')",
	"filter string":     "TEXT|string LIST|string MAPPING|string ROWS|string NUMBERS|string",
	"filter safe":       "TEXT|safe",
	"filter indent":     "LINES|indent PARTS|indent(TEXT,true) 'x'|indent(99999,true)",
	"filter join":       "LIST|join LIST|join(TEXT[:99]) ROWS|join(',',attribute='a') TEXT|join",
	"filter tojson":     "TEXT|tojson PARTS|tojson LIST|tojson(indent=2) MAPPING|tojson(indent=100) ROWS|tojson",
	"filter length":     "TEXT|length list|length",
	"filter count":      "TEXT|count mapping|count",
	"filter default":    "TEXT|default(PARTS) list|default('x',true)",
	"filter d":          "TEXT|d(PARTS) none|d(list)",
	"filter int":        "DIGITS|int TEXT|int BLANK|int(3)",
	"filter float":      "DIGITS|float TEXT|float",
	"filter abs":        "-3|abs",
	"filter sum":        "NUMBERS|sum NUMBERS|sum",
	"filter first":      "TEXT|first MAPPING|first list|first",
	"filter last":       "TEXT|last MAPPING|last list|last",
	"filter list":       "TEXT|list PARTS|list LIST|list MAPPING|list",
	"filter items":      "MAPPING|items",
	"filter dictsort":   "MAPPING|dictsort",
	"filter sort":       "LIST|sort NUMBERS|sort(reverse=true) PARTS|sort MAPPING|items|sort",
	"filter reverse":    "TEXT|reverse LIST|reverse PARTS|reverse",
	"filter unique":     "LIST|unique NUMBERS|unique",
	"filter map":        "LIST|map('upper') ROWS|map(attribute='a') ROWS|map(attribute='a.b',default=1) LIST|map('length')",
	"filter select":     "LIST|select LIST|select('string') NUMBERS|select('odd')",
	"filter reject":     "LIST|reject LIST|reject('eq',TEXT)",
	"filter selectattr": "ROWS|selectattr('a') ROWS|selectattr('a','eq','x')",
	"filter rejectattr": "ROWS|rejectattr('a') ROWS|rejectattr('a','eq','x')",

	"method split":      "TEXT.split('a') PARTS.split('x') TEXT.split() TEXT.split(PARTS) PARTS.split('x',5) BLANK.split()",
	"method splitlines": "LINES.splitlines() PARTS.splitlines()",
	"method strip":      "TEXT.strip() BLANK.strip() PARTS.strip(TEXT) TEXT.strip(PARTS) TEXT.strip(MANY)",
	"method lstrip":     "TEXT.lstrip(PARTS) BLANK.lstrip()",
	"method rstrip":     "TEXT.rstrip(PARTS) BLANK.rstrip()",
	"method upper":      "TEXT.upper() PARTS.upper()",
	"method lower":      "TEXT.lower()",
	"method title":      "TEXT.title()",
	"method capitalize": "TEXT.capitalize()",
	"method startswith": "TEXT.startswith(TEXT) TEXT.startswith(PARTS) TEXT.startswith(LIST)",
	"method endswith":   "TEXT.endswith(TEXT) TEXT.endswith(PARTS) TEXT.endswith((PARTS,TEXT))",
	"method replace":    "TEXT.replace('a','xyz') PARTS.replace('x',PARTS[:99]) TEXT.replace(PARTS,TEXT)",
	"method join":       "','.join(LIST) TEXT[:99].join(LIST) 'x'.join(TEXT)",
	"method find":       "TEXT.find('#') TEXT.find(PARTS)",
	"method isdigit":    "DIGITS.isdigit() TEXT.isdigit()",
	"method items":      "MAPPING.items()",
	"method keys":       "MAPPING.keys()",
	"method values":     "MAPPING.values()",
	"method get":        "mapping.get(TEXT) mapping.get(1,TEXT)",

	"test defined":     "TEXT&is&defined list&is&defined",
	"test undefined":   "TEXT&is&undefined",
	"test none":        "TEXT&is&none",
	"test true":        "TEXT&is&true",
	"test false":       "TEXT&is&false",
	"test string":      "TEXT&is&string",
	"test boolean":     "TEXT&is&boolean",
	"test integer":     "TEXT&is&integer",
	"test float":       "TEXT&is&float",
	"test mapping":     "mapping&is&mapping",
	"test callable":    "TEXT&is&callable",
	"test number":      "TEXT&is&number",
	"test sequence":    "TEXT&is&sequence",
	"test iterable":    "TEXT&is&iterable",
	"test odd":         "3&is&odd",
	"test even":        "3&is&even",
	"test divisibleby": "3&is&divisibleby(3)",
	"test equalto":     "TEXT&is&equalto(PARTS) LIST&is&equalto(LIST) MAPPING&is&equalto(MAPPING)",
	"test eq":          "TEXT&is&eq(TEXT) ROWS&is&eq(ROWS)",
	"test ne":          "TEXT&is&ne(TEXT) LIST&is&ne(LIST)",
	"test sameas":      "TEXT&is&sameas(TEXT)",
	"test lt":          "TEXT&is&lt(TEXT) LIST&is&lt(LIST)",
	"test le":          "TEXT&is&le(TEXT)",
	"test gt":          "TEXT&is&gt(TEXT)",
	"test ge":          "TEXT&is&ge(TEXT)",
	"test lessthan":    "TEXT&is&lessthan(TEXT)",
	"test greaterthan": "TEXT&is&greaterthan(TEXT)",
	"test in":          "TEXT&is&in(PARTS) PARTS&is&in(TEXT) TEXT&is&in(LIST) TEXT&is&in(mapping)",
	"test upper":       "TEXT&is&upper DIGITS&is&upper",
	"test lower":       "TEXT&is&lower PARTS&is&lower",

	"operator ~":      "TEXT~PARTS LIST~1",
	"operator +":      "TEXT+PARTS LIST+NUMBERS 1+2",
	"operator *":      "TEXT*9 PARTS*3 LIST*3 99999*'' 99999*[] 2*3",
	"operator -":      "3-2",
	"operator /":      "3/2",
	"operator //":     "3//2",
	"operator %":      "3%2",
	"operator **":     "3**39 3.5**99999",
	"operator ==":     "TEXT==TEXT TEXT==PARTS LIST==LIST MAPPING==MAPPING 'b'==TEXT",
	"operator !=":     "TEXT!=TEXT LIST!=LIST",
	"operator in":     "TEXT&in&PARTS TEXT&in&mapping TEXT&in&LIST 'b'&in&LIST '#'&in&TEXT",
	"operator not in": "TEXT&not&in&PARTS '#'&not&in&TEXT",
	"operator <":      "TEXT<TEXT LIST<LIST",
	"operator <=":     "TEXT<=TEXT",
	"operator >":      "TEXT>TEXT",
	"operator >=":     "TEXT>=TEXT",
	"operator []":     "TEXT[9] TEXT[-1] mapping[TEXT] list[9] list[TEXT]",
	"operator [:]":    "TEXT[1:-1] TEXT[::-1] PARTS[1:-1] LIST[1:-1] LIST[::-1]",

	"function range":           "range(9999) range(2147483000,2147483647,1) range(9999,0,-1)",
	"function namespace":       "namespace(MAPPING) namespace(a=TEXT)",
	"function dict":            "dict(a=TEXT)",
	"function raise_exception": "raise_exception(TEXT) raise_exception(LIST)",
	"function loop.cycle":      "cycle(TEXT,PARTS)",
	"function of Go":           "echo(TEXT) echo(PARTS,TEXT)",
}

// operations returns the names of all operations that there are.
func operations() (names []string) {
	for kind, table := range map[string]map[string]operation{"filter": filters, "method": stringMethods, "test": tests, "operator": infix, "function": functions} {
		for name := range table {
			names = append(names, kind+" "+name)
		}
	}
	for name := range dictMethods {
		names = append(names, "method "+name)
	}
	return append(names, "operator []", "operator [:]", "function loop.cycle", "function of Go")
}

// large are large values by their names.
var large = sync.OnceValue(func() map[string]any {
	var list, numbers, dicts []any
	dict := NewDict()
	for i := range 3000 {
		s := Outside(fmt.Sprint("item", i*7919%3000))
		list, numbers = append(list, s), append(numbers, int64(i))
		d := NewDict()
		d.Set("a", s)
		dicts = append(dicts, d)
		dict.set(s, int64(i))
	}
	parts := builder{m: newMeter()}
	for range 10_000 {
		parts.add(Outside("user"))
		parts.add(Inside("x"))
	}
	all := map[string]any{
		"TEXT": Outside(strings.Repeat("abc def ", 10_000)), "BLANK": Inside(strings.Repeat(" \t\n", 20_000)), "PARTS": parts.str(),
		"LINES": Inside(strings.Repeat("line\n", 10_000)), "DIGITS": Inside(strings.Repeat("7", 50_000)),
		"LIST": NewList(list...), "NUMBERS": NewList(numbers...), "ROWS": NewList(dicts...), "MAPPING": dict,
		"cycle": callable{cycle, &position{}}, "echo": Function(func(s ...string) (string, error) { return s[0], nil }),
	}
	var many strings.Builder // different characters
	for c := rune(0x4e00); c < 0x9fff; c++ {
		many.WriteRune(c)
	}
	all["MANY"] = Outside(many.String())
	for _, name := range [...]string{"LIST", "MAPPING"} {
		all[strings.ToLower(name)] = all[name]
	}
	return all
})

// newMeter returns a meter that does not stop.
func newMeter() *meter { return &newRunner(context.Background(), nil, math.MaxInt64).meter }

// size is what going over a value costs at least.
func size(v any) int64 {
	switch v := v.(type) {
	case Str:
		return int64(len(v.text) + len(v.turns))
	case *List:
		return int64(len(v.items))
	case *Dict:
		return int64(len(v.entries))
	}
	return 0
}

// allocated returns how many bytes of memory a function takes if these are more than it allows,
// each of three times: the runtime itself takes some now and then. Otherwise it returns 0.
func allocated(f func() (most int64)) (taken int64) {
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		most := f()
		runtime.ReadMemStats(&after)
		if taken = int64(after.TotalAlloc - before.TotalAlloc); taken <= most {
			return 0
		}
	}
	return taken
}

var upperCase = regexp.MustCompile(`[A-Z]{4,}`)

// uncharged returns what a template does without charging for it, or "".
func uncharged(t *testing.T, expression string) string {
	t.Helper()
	parsed, err := Parse("{% set result = " + strings.ReplaceAll(expression, "&", " ") + " %}")
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	variables := large()
	want := int64(0)
	for _, name := range upperCase.FindAllString(expression, -1) {
		want += size(variables[name])
	}
	const budget = 1 << 40
	var work int64
	taken := allocated(func() (most int64) {
		r := newRunner(t.Context(), variables, budget)
		_, err = r.render(parsed)
		work = budget - r.left
		return 2*work + 1<<14 // slices and maps that grow are made again some times
	})
	if err != nil && !strings.HasPrefix(expression, "raise_exception") {
		t.Fatalf("%s: %v", expression, err)
	}
	if work < want {
		return fmt.Sprintf("charges %d units for values of size %d", work, want)
	}
	if taken > 0 {
		return fmt.Sprintf("charges %d units and takes %d bytes of memory", work, taken)
	}
	r := newRunner(t.Context(), variables, work-1)
	if _, err := r.render(parsed); err == nil || !strings.Contains(err.Error(), "more work") {
		return fmt.Sprintf("does work of %d units within a limit of %d: %v", work, work-1, err)
	}
	return ""
}

// Every operation charges for going over large values and for the memory that it takes. One that is
// not in the table fails.
func TestCharges(t *testing.T) {
	all := operations()
	for _, name := range all {
		if charged[name] == "" {
			t.Errorf("%s is not in the table of this test", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(charged)) {
		if !slices.Contains(all, name) {
			t.Errorf("there is no %s", name)
			continue
		}
		for expression := range strings.FieldsSeq(charged[name]) {
			if got := uncharged(t, expression); got != "" {
				t.Errorf("%s: %s %s", name, expression, got)
			}
		}
	}
}

// Looking for a long string in another is charged for as package strings may have to work: it may
// compare the whole of it at every few bytes.
func TestSearchCharges(t *testing.T) {
	text := strings.Repeat("abcdefghijklmnopq", 10_000)
	variables := map[string]any{"text": Outside(text), "part": Outside(text[:len(text)/2] + "!")}
	least := int64(len(text)) * int64(len(text)/2) / 256
	for _, expression := range [...]string{"part in text", "part not in text", "part is in text", "text.find(part)", "text.split(part)", "text.replace(part, '')", "text | replace(part, '')"} {
		if _, work, err := render(t.Context(), t, "{{ "+expression+" }}", variables, 1<<40); err != nil || work < least {
			t.Errorf("%s: %d units, %v; want %d or more", expression, work, err, least)
		}
	}
}

// TestCharges finds filters that do not charge.
func TestChargesFinds(t *testing.T) {
	defer delete(filters, "broken")
	for expression, do := range map[string]operation{
		"LIST|broken": func(r *runner, v value, a args) value {
			return slices.IndexFunc(v.(*List).items, func(v value) bool { return v == nil }) < 0
		},
		"TEXT|broken":  func(r *runner, v value, a args) value { return Inside(strings.Repeat(v.(Str).text, 4)) },
		"99999|broken": func(r *runner, v value, a args) value { return &List{items: make([]value, v.(int64))} },
	} {
		filters["broken"] = do
		if uncharged(t, expression) == "" {
			t.Errorf("%s: nothing found", expression)
		}
	}
}
