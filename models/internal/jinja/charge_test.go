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

	"github.com/attn-go/attn/models/internal/jinja/syntax"
	_ "github.com/attn-go/attn/models/internal/testweights" // the flag -refs
)

// charged are templates' uses of every operation on large values, several with spaces between
// them. Going over each value whose name is in upper case must be charged for, at least once. A
// name in lower case stands for the same value, of which the operation reads an item at most.
var charged = map[string]string{
	"filter trim":           "TEXT|trim BLANK|trim PARTS|trim(TEXT) LIST|trim",
	"filter upper":          "TEXT|upper PARTS|upper LIST|upper",
	"filter lower":          "TEXT|lower PARTS|lower",
	"filter title":          "TEXT|title PARTS|title",
	"filter capitalize":     "TEXT|capitalize PARTS|capitalize",
	"filter center":         "TEXT|center(99999) 'x'|center(99999)",
	"filter replace":        "TEXT|replace('a','xyz') PARTS|replace('x',PARTS[:99]) TEXT|replace(PARTS,TEXT) LIST|replace(',','') TEXT|replace('','x')",
	"filter truncate":       "TEXT|truncate(9999) PARTS|truncate(9999,true) TEXT|truncate(99,false,PARTS[:50])",
	"filter format":         "'%s'|format(TEXT) '%9999d'|format(7) TEXT|format 'x'|format(a=TEXT)",
	"filter string":         "TEXT|string LIST|string MAPPING|string ROWS|string NUMBERS|string",
	"filter safe":           "TEXT|safe LIST|safe",
	"filter e":              "TEXT|e PARTS|e",
	"filter escape":         "TEXT|escape",
	"filter forceescape":    "TEXT|forceescape LIST|forceescape",
	"filter indent":         "LINES|indent PARTS|indent(TEXT,true) 'x'|indent(99999,true)",
	"filter tojson":         "TEXT|tojson PARTS|tojson(true) LIST|tojson(indent=2) MAPPING|tojson(indent=100) ROWS|tojson MAPPING|tojson(sort_keys=true) LIST|tojson(separators=(TEXT[:99],':'))",
	"filter striptags":      "TEXT|striptags PARTS|striptags LINES|striptags",
	"filter urlencode":      "TEXT|urlencode MAPPING|urlencode PARTS|urlencode",
	"filter wordcount":      "TEXT|wordcount",
	"filter xmlattr":        "MAPPING|xmlattr",
	"filter default":        "TEXT|default(PARTS) list|default('x',true)",
	"filter d":              "TEXT|d(PARTS) none|d(list)",
	"filter attr":           "TEXT|attr('upper') mapping|attr('x')",
	"filter int":            "TEXT|int BLANK|int(3)",
	"filter float":          "DIGITS|float TEXT|float",
	"filter abs":            "-3|abs",
	"filter round":          "2.5|round(1)",
	"filter filesizeformat": "12345|filesizeformat",
	"filter random":         unsupportedHere,
	"filter pprint":         unsupportedHere,
	"filter urlize":         unsupportedHere,
	"filter wordwrap":       unsupportedHere,
	"filter sum":            "NUMBERS|sum NUMBERS|sum(none,1)",
	"filter first":          "TEXT|first MAPPING|first list|first",
	"filter last":           "TEXT|last MAPPING|last list|last",
	"filter list":           "TEXT|list PARTS|list LIST|list MAPPING|list",
	"filter length":         "TEXT|length list|length",
	"filter count":          "TEXT|count mapping|count",
	"filter join":           "LIST|join LIST|join(TEXT[:99]) ROWS|join(',',attribute='a') TEXT|join",
	"filter items":          "MAPPING|items|list",
	"filter dictsort":       "MAPPING|dictsort MAPPING|dictsort(by='value')",
	"filter sort":           "LIST|sort NUMBERS|sort(reverse=true) PARTS|sort MAPPING|items|sort ROWS|sort(attribute='a,a')",
	"filter groupby":        "ROWS|groupby('a')",
	"filter min":            "LIST|min ROWS|min(attribute='a')",
	"filter max":            "LIST|max(true)",
	"filter reverse":        "TEXT|reverse LIST|reverse|list PARTS|reverse",
	"filter unique":         "LIST|unique|list NUMBERS|unique|list ROWS|unique(attribute='a')|list",
	"filter map":            "LIST|map('upper')|list ROWS|map(attribute='a')|list ROWS|map(attribute='a.b',default=1)|list LIST|map('length')|list",
	"filter select":         "LIST|select|list LIST|select('string')|list NUMBERS|select('odd')|list",
	"filter reject":         "LIST|reject|list LIST|reject('eq',TEXT)|list",
	"filter selectattr":     "ROWS|selectattr('a')|list ROWS|selectattr('a','eq','x')|list",
	"filter rejectattr":     "ROWS|rejectattr('a')|list ROWS|rejectattr('a','eq','x')|list",
	"filter batch":          "LIST|batch(7)|list 'x'|batch(9999,'y')|list",
	"filter slice":          "LIST|slice(7)|list 'x'|slice(9999,'y')|list",

	"method split":        "TEXT.split('a') PARTS.split('x') TEXT.split() TEXT.split(PARTS) PARTS.split('x',5) BLANK.split() TEXT.split(none,5)",
	"method rsplit":       "TEXT.rsplit('a') PARTS.rsplit('x') TEXT.rsplit() TEXT.rsplit(PARTS) BLANK.rsplit()",
	"method splitlines":   "LINES.splitlines() PARTS.splitlines() LINES.splitlines(true)",
	"method partition":    "TEXT.partition('#') PARTS.partition(TEXT) PARTS.partition('x')",
	"method rpartition":   "TEXT.rpartition('#') PARTS.rpartition('x')",
	"method strip":        "TEXT.strip() BLANK.strip() PARTS.strip(TEXT) TEXT.strip(PARTS) TEXT.strip(MANY)",
	"method lstrip":       "TEXT.lstrip(PARTS) BLANK.lstrip()",
	"method rstrip":       "TEXT.rstrip(PARTS) BLANK.rstrip()",
	"method upper":        "TEXT.upper() PARTS.upper()",
	"method lower":        "TEXT.lower()",
	"method casefold":     "TEXT.casefold() MANY.casefold()",
	"method swapcase":     "TEXT.swapcase()",
	"method title":        "TEXT.title()",
	"method capitalize":   "TEXT.capitalize()",
	"method startswith":   "TEXT.startswith(TEXT) TEXT.startswith(PARTS) TEXT.startswith((PARTS,TEXT)) PARTS.startswith('x',1)",
	"method endswith":     "TEXT.endswith(TEXT) TEXT.endswith(PARTS) TEXT.endswith((PARTS,TEXT)) PARTS.endswith('x',1,9999)",
	"method removeprefix": "TEXT.removeprefix(TEXT) PARTS.removeprefix(TEXT)",
	"method removesuffix": "TEXT.removesuffix(TEXT) PARTS.removesuffix(TEXT)",
	"method replace":      "TEXT.replace('a','xyz') PARTS.replace('x',PARTS[:99]) TEXT.replace(PARTS,TEXT) TEXT.replace('','x')",
	"method join":         "','.join(LIST) TEXT[:99].join(LIST) 'x'.join(TEXT)",
	"method find":         "TEXT.find('#') TEXT.find(PARTS) TEXT.find('#',9)",
	"method rfind":        "TEXT.rfind('#') TEXT.rfind(PARTS)",
	"method index":        "TEXT.index('f') PARTS.index('x',9) LIST.index(LIST[-1]) range(9999).index(9998)",
	"method rindex":       "TEXT.rindex('a')",
	"method count":        "TEXT.count('a') TEXT.count(PARTS) LIST.count(TEXT)",
	"method center":       "TEXT.center(99999) 'x'.center(99999,'-')",
	"method ljust":        "TEXT.ljust(99999)",
	"method rjust":        "TEXT.rjust(99999) 'x'.rjust(99999)",
	"method zfill":        "TEXT.zfill(99999)",
	"method expandtabs":   "BLANK.expandtabs(99) PARTS.expandtabs()",
	"method format":       "'{}'.format(TEXT) '{:9999}'.format(7) TEXT.format(TEXT) '{0}{0}'.format(PARTS) '{a}'.format(a=LIST)",
	"method format_map":   "'{a}'.format_map({'a':TEXT}) TEXT.format_map(mapping)",
	"method items":        "MAPPING.items()",
	"method keys":         "MAPPING.keys()",
	"method values":       "MAPPING.values()",
	"method get":          "mapping.get(TEXT) mapping.get(1,TEXT)",
	"method copy":         "list.copy() mapping.copy()",
	"method fromkeys":     "{}.fromkeys(LIST) {}.fromkeys(TEXT,1)",
	"method next":         "cycler(TEXT).next()",
	"method reset":        "cycler(TEXT).reset()",
	"method cycle":        "loop.cycle(TEXT,PARTS)",
	"method changed":      "loop.changed(TEXT) loop.changed(list)",
	"method encode":       unsupportedHere,
	"method translate":    unsupportedHere,
	"method maketrans":    unsupportedHere,
	"method start":        unsupportedHere,
	"method stop":         unsupportedHere,
	"method step":         unsupportedHere,
	"method isalpha":      "DIGITS.isalpha() TEXT.isalpha() BLANK.isalpha()",
	"method isalnum":      "DIGITS.isalnum() TEXT.isalnum() BLANK.isalnum()",
	"method isdecimal":    "DIGITS.isdecimal() TEXT.isdecimal() BLANK.isdecimal()",
	"method isdigit":      "DIGITS.isdigit() TEXT.isdigit() BLANK.isdigit()",
	"method isnumeric":    "DIGITS.isnumeric() TEXT.isnumeric() BLANK.isnumeric()",
	"method isspace":      "DIGITS.isspace() TEXT.isspace() BLANK.isspace()",
	"method isupper":      "DIGITS.isupper() TEXT.isupper() BLANK.isupper()",
	"method islower":      "DIGITS.islower() TEXT.islower() BLANK.islower()",
	"method istitle":      "DIGITS.istitle() TEXT.istitle() BLANK.istitle()",
	"method isidentifier": "DIGITS.isidentifier() TEXT.isidentifier() BLANK.isidentifier()",
	"method isprintable":  "DIGITS.isprintable() TEXT.isprintable() BLANK.isprintable()",
	"method isascii":      "DIGITS.isascii() TEXT.isascii() BLANK.isascii()",

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

	"test filter":  "TEXT&is&filter",
	"test test":    "TEXT&is&test",
	"test escaped": "TEXT&is&escaped",
	"test ==":      "[TEXT]|select('==',TEXT)|list",
	"test !=":      "[TEXT]|select('!=',TEXT)|list",
	"test <":       "[TEXT]|select('<',TEXT)|list",
	"test <=":      "[TEXT]|select('<=',TEXT)|list",
	"test >":       "[TEXT]|select('>',TEXT)|list",
	"test >=":      "[TEXT]|select('>=',TEXT)|list",

	"operator ~":      "TEXT~PARTS LIST~1",
	"operator +":      "TEXT+PARTS LIST+NUMBERS 1+2",
	"operator *":      "TEXT*9 PARTS*3 LIST*3 99999*'' 99999*[] 2*3",
	"operator -":      "3-2",
	"operator /":      "3/2",
	"operator //":     "3//2",
	"operator %":      "3%2 '%s'%TEXT '%s%%'%(PARTS,) '%9999d'%3",
	"operator **":     "3**39 3.5**99",
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

	"function range":           "range(9999) range(2147483000,2147483647,1) range(9999,0,-1) range(9999)[1:]",
	"function namespace":       "namespace(MAPPING) namespace(a=TEXT)",
	"function dict":            "dict(a=TEXT) dict(MAPPING) dict(MAPPING.items()) dict(**MAPPING)",
	"function cycler":          "cycler(TEXT) cycler(*LIST)",
	"function joiner":          "joiner(TEXT)",
	"function raise_exception": "raise_exception(TEXT) raise_exception(LIST)",
	"function lipsum":          unsupportedHere,
	"function loop":            "loop(LIST)",
	"function of Go":           "echo(TEXT) echo(PARTS)",
}

// unsupportedHere stands for an operation of jinja2 or Python that only says that it is not here.
const unsupportedHere = "-"

// operations returns the names of all operations that there are.
func operations() (names []string) {
	for kind, table := range map[string]map[string]operation{"filter": filters, "test": tests, "operator": infix, "function": functions} {
		for name := range table {
			names = append(names, kind+" "+name)
		}
	}
	methods := map[string]bool{}
	for _, table := range []map[string]operation{stringMethods, dictMethods, listMethods, copyMethod, spanMethods, cyclerMethods, loopMethods} {
		for name := range table {
			methods["method "+name] = true
		}
	}
	return append(slices.Collect(maps.Keys(methods)), append(names, "operator []", "operator [:]", "function loop", "function of Go")...)
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
		"loop": &position{of: &syntax.Loop{To: syntax.ToName("x"), Recursive: true, Frame: &syntax.Frame{}, OtherFrame: &syntax.Frame{}}, scope: &scope{values: map[string]value{}}},
		"echo": &Function{"echo(x)", func(s ...string) (string, error) { return s[0], nil }},
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

// sizeOf is what going over a value costs at least.
func sizeOf(v any) int64 {
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
		want += sizeOf(variables[name])
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
		if charged[name] == unsupportedHere {
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
	for _, expression := range [...]string{"part in text", "part not in text", "part is in text", "text.find(part)", "text.split(part)", "text.rsplit(part)", "text.count(part)", "text.rfind(part)", "text.partition(part)", "text.replace(part, '')", "text | replace(part, '')"} {
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
