package regular

import (
	"strings"
	"sync"
)

// formats are expressions of values of format, by RFC 3339, 3986, 5321 and so on.
var formats = map[string]struct {
	is    []string // all of which match values
	maybe string   // if is has a part of the format alone, what all of its values match
}{
	"date":                  {is: []string{"^" + datePattern + "$"}},
	"time":                  {is: []string{"^" + timePattern + "$"}, maybe: `^[0-9]{2}:`},
	"date-time":             {is: []string{"^" + datePattern + "[Tt]" + timePattern + "$"}, maybe: `^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]`},
	"duration":              {is: []string{`^P([0-9]+W|([0-9]+Y([0-9]+M([0-9]+D)?)?|[0-9]+M([0-9]+D)?|[0-9]+D)(T` + durationTime + `)?|T` + durationTime + `)$`}},
	"uuid":                  {is: []string{"^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"}},
	"ipv4":                  {is: []string{"^" + ipv4Pattern + "$"}},
	"ipv6":                  {is: []string{"^" + ipv6Pattern + "$"}},
	"hostname":              {is: []string{`^(?!(.*\.)?[^.]{2}--)` + hostPattern + `$`}, maybe: `^[0-9A-Za-z.-]+$`},
	"email":                 {is: []string{`^` + localPattern + `(\.` + localPattern + `)*@` + hostPattern + `$`, `^[^@]{1,64}@`}, maybe: "@"},
	"uri":                   {is: []string{"^" + schemePattern + hierPattern + `(\?` + queryChars + `*)?(#` + queryChars + `*)?$`}, maybe: "^" + schemePattern},
	"uri-reference":         {is: []string{"^(" + schemePattern + hierPattern + "|" + relativePattern + `)(\?` + queryChars + `*)?(#` + queryChars + `*)?$`}, maybe: "^[!-~]*$"},
	"json-pointer":          {is: []string{`^(/([^~/]|~[01])*)*$`}},
	"relative-json-pointer": {is: []string{`^(0|[1-9][0-9]*)(#|(/([^~/]|~[01])*)*)$`}},
}

const (
	leapYear    = `([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)`
	datePattern = `([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|` + leapYear + `-02-29)`
	timePattern = `([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`

	durationTime = `([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S)`

	octetPattern = `(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])`
	ipv4Pattern  = octetPattern + `(\.` + octetPattern + `){3}`
	hexPattern   = `[0-9a-fA-F]{1,4}`
	last32       = `(` + hexPattern + `:` + hexPattern + `|` + ipv4Pattern + `)`
	ipv6Pattern  = `((` + hexPattern + `:){6}` + last32 +
		`|::(` + hexPattern + `:){5}` + last32 +
		`|(` + hexPattern + `)?::(` + hexPattern + `:){4}` + last32 +
		`|((` + hexPattern + `:){0,1}` + hexPattern + `)?::(` + hexPattern + `:){3}` + last32 +
		`|((` + hexPattern + `:){0,2}` + hexPattern + `)?::(` + hexPattern + `:){2}` + last32 +
		`|((` + hexPattern + `:){0,3}` + hexPattern + `)?::` + hexPattern + `:` + last32 +
		`|((` + hexPattern + `:){0,4}` + hexPattern + `)?::` + last32 +
		`|((` + hexPattern + `:){0,5}` + hexPattern + `)?::` + hexPattern +
		`|((` + hexPattern + `:){0,6}` + hexPattern + `)?::)`

	// Up to four labels of up to 62 characters, or 15 of up to 15, which is no more than
	// 253 in all.
	hostPattern = `(` + longLabel + `(\.` + longLabel + `){0,3}|` + shortLabel + `(\.` + shortLabel + `){0,14})`
	longLabel   = `[0-9A-Za-z]([0-9A-Za-z-]{0,60}[0-9A-Za-z])?`
	shortLabel  = `[0-9A-Za-z]([0-9A-Za-z-]{0,13}[0-9A-Za-z])?`

	localPattern = `[0-9A-Za-z!#$%&'*+/=?^_{|}~` + "`" + `-]+`

	schemePattern   = `[A-Za-z][0-9A-Za-z+.-]*:`
	unreserved      = `[0-9A-Za-z._~!$&'()*+,;=-]`
	percent         = `%[0-9A-Fa-f]{2}`
	segmentChars    = `(` + unreserved + `|[:@]|` + percent + `)`
	queryChars      = `(` + unreserved + `|[:@/?]|` + percent + `)`
	authority       = `((` + unreserved + `|:|` + percent + `)*@)?(\[` + ipv6Pattern + `\]|` + unreserved + `*)(:[0-9]*)?`
	pathAfter       = `(/` + segmentChars + `*)*`
	hierPattern     = `(//` + authority + pathAfter + `|/(` + segmentChars + `+` + pathAfter + `)?|` + segmentChars + `+` + pathAfter + `)?`
	relativePattern = `(//` + authority + pathAfter + `|/(` + segmentChars + `+` + pathAfter + `)?|(` + unreserved + `|@|` + percent + `)+` + pathAfter + `)?`
)

// Unchecked are formats of the standard that this package cannot check. All others that it
// does not have are annotations.
var Unchecked = []string{"idn-email", "idn-hostname", "iri", "iri-reference", "uri-template", "regex"}

// formatTexts are the automata of formats, once they are made.
var formatTexts sync.Map

// Format returns the texts of a value of format in JSON Schema. If maybe is set, it returns a
// superset of its texts, however others read the format. It is nil if this package has no such
// format.
func Format(name string, maybe bool) (all *Texts, err error) {
	f := formats[name]
	list := f.is
	if maybe && f.maybe != "" {
		list = []string{f.maybe}
	}
	key := strings.Join(list, "\n")
	if d, ok := formatTexts.Load(key); ok {
		return d.(*Texts), nil
	}
	for _, expression := range list {
		d, err := Matching(expression)
		if err != nil {
			return nil, err
		}
		all = all.And(d)
	}
	if all != nil {
		formatTexts.Store(key, all)
	}
	return all, nil
}
