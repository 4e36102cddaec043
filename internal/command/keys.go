package command

import (
	"strings"

	"github.com/redislanes/redislanes/internal/resp"
)

// A span says which arguments are keys, counted from the one after the name:
// first, first+step, ... up to but not including end, and extra unless it is
// negative.
type span struct{ first, end, step, extra int }

var noKeys = span{step: 1, extra: -1}

// Keys returns the keys. Shard channels count as keys. A command with too few or
// malformed arguments has none, or those that can be told: the server then says
// what is wrong.
func (c Command) Keys() Keys {
	args := c.args()
	s := c.span(args)
	return Keys{args: args, span: s, next: s.first}
}

// Keys gives the keys of a command one by one, without allocating.
type Keys struct {
	args resp.Args
	span span
	next int
}

// Next returns the next key, which is part of the encoded command; ok is false
// if there are no more.
func (k *Keys) Next() (key []byte, ok bool) {
	i := k.next
	switch {
	case i < k.span.end:
		k.next += k.span.step
	case k.span.extra >= 0:
		i, k.span.extra = k.span.extra, -1
	default:
		return nil, false
	}
	k.args.Seek(1 + i) // behind the name
	return k.args.Next()
}

// args returns the arguments after the name.
func (c Command) args() resp.Args {
	args := resp.ArgsOf(c.encoded)
	args.Skip(1)
	return args
}

// span applies the command's rule to its arguments.
func (c Command) span(args resp.Args) span {
	r := c.rule
	switch r.find {
	case byRange:
		return rangeKeys(args.Len(), int(r.first), int(r.last), int(r.step))
	case byCount:
		return countedKeys(args, int(r.first), int(r.step))
	case byCountStore:
		keys := countedKeys(args, int(r.first), int(r.step))
		if args.Len() > 0 {
			keys.extra = 0
		}
		return keys
	case byStreams:
		return streamKeys(args)
	case bySortStore:
		return storeKeys(args, 1, sortWords)
	case byGeoStore: // "key member radius unit" at the least
		return storeKeys(args, 4, geoWords)
	}
	return noKeys
}

// rangeKeys: of n arguments those from first to last, which counts from the end
// if it is negative.
func rangeKeys(n, first, last, step int) span {
	end := last + 1
	if last < 0 {
		end += n
	}
	return span{first, min(end, n), step, -1}
}

// countedKeys reads the number of keys in the argument at the given place; they
// come after it.
func countedKeys(args resp.Args, at, step int) span {
	given := args.Len()
	args.Skip(at)
	digits, ok := args.Next()
	if !ok {
		return noKeys
	}
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' || n > given/10 {
			return noKeys
		}
		n = n*10 + int(c-'0')
	}
	first := at + 1
	if fit := (max(0, given-first) + step - 1) / step; n > fit {
		return noKeys // the server refuses more keys than arguments
	}
	return span{first, first + n*step, step, -1}
}

// An option is an argument that is looked for by its name.
type option struct {
	name    string
	skipped int // so many arguments after it belong to it
}

// match returns the option that the argument is, if any.
func match(arg []byte, options []option) (option, bool) {
	for _, o := range options {
		if equalName(arg, o.name) {
			return o, true
		}
	}
	return option{}, false
}

var streamWords = []option{{"STREAMS", 0}, {"BLOCK", 1}, {"COUNT", 1}, {"CLAIM", 1}, {"GROUP", 2}}

// streamOptions returns the places after STREAMS and after BLOCK in the arguments of XREAD and
// XREADGROUP. Each is -1 if there is none; options end with STREAMS.
func streamOptions(args resp.Args) (after, block int) {
	block = -1
	for i := 0; ; i++ {
		arg, ok := args.Next()
		if !ok {
			return -1, block
		}
		switch o, _ := match(arg, streamWords); o.name {
		case "STREAMS":
			return i + 1, block
		case "BLOCK":
			block = i + 1
			fallthrough
		default:
			args.Skip(o.skipped)
			i += o.skipped
		}
	}
}

// streamKeys: after STREAMS there are as many IDs as keys.
func streamKeys(args resp.Args) span {
	after, _ := streamOptions(args)
	if after < 0 {
		return noKeys
	}
	return span{after, after + (args.Len()-after)/2, 1, -1}
}

var (
	sortWords = []option{{"STORE", 1}, {"LIMIT", 2}, {"GET", 1}, {"BY", 1}}
	geoWords  = []option{{"STORE", 1}, {"STOREDIST", 1}}
)

// storeKeys: the key and the one after the last STORE or STOREDIST. Options begin at the given place.
func storeKeys(args resp.Args, options int, words []option) span {
	n := args.Len()
	keys := span{0, min(1, n), 1, -1}
	args.Skip(options)
	for i := options; ; i++ {
		arg, ok := args.Next()
		if !ok {
			return keys
		}
		o, _ := match(arg, words)
		if strings.HasPrefix(o.name, "STORE") && i+1 < n {
			keys.extra = i + 1
		}
		args.Skip(o.skipped)
		i += o.skipped
	}
}
