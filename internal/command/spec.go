package command

import (
	"strings"

	"github.com/redislanes/redislanes/internal/resp"
)

// A spec is a key specification as servers tell it ("Command key specifications"
// in Redis' documentation). Places count from the command's name, which is 0.
type spec struct {
	keyword string // looked for from index on, towards the front if that is negative; "": the keys begin at index
	index   int
	// Of a range: the last key, from the first one on if it is not negative,
	// otherwise from the end; from a part of the rest if limit is more than 1.
	last, limit int
	// Of a count: where it is and where the first key is, from the beginning on.
	counted         bool
	number, firstAt int
	step            int
}

// span returns the arguments that the spec says are keys.
func (s spec) span(args resp.Args) span {
	n := 1 + args.Len() // with the name
	begin := s.index
	if s.keyword != "" {
		begin = s.find(args, n)
	}
	if begin <= 0 || begin >= n {
		return noKeys
	}
	if s.counted {
		return s.count(args, n, begin)
	}
	end := begin + s.last
	switch {
	case s.last < 0 && s.limit > 1:
		end = begin + (n-begin)/s.limit + s.last
	case s.last < 0:
		end = n + s.last
	}
	return span{begin - 1, min(end+1, n) - 1, s.step, -1}
}

// count reads the number of keys.
func (s spec) count(args resp.Args, n, begin int) span {
	keys := countedKeys(args, begin+s.number-1, s.step)
	if keys.end <= keys.first {
		return noKeys
	}
	moved := begin + s.firstAt - 1 - keys.first
	keys.first, keys.end = keys.first+moved, keys.end+moved
	if keys.end-s.step >= n-1 {
		return noKeys // more keys than arguments
	}
	return keys
}

// find returns the place behind the keyword, 0 if it is not there.
func (s spec) find(args resp.Args, n int) int {
	from, until := s.index, n
	if s.index < 0 {
		from, until = 1, n+s.index+1
	}
	found := 0
	for i := 1; i < until; i++ {
		arg, ok := args.Next()
		if !ok {
			break
		}
		if i >= from && equalName(arg, s.keyword) {
			if found = i + 1; s.index >= 0 {
				break
			}
		}
	}
	return found
}

// parseSpec reads a key specification; ok is false for one that says that the
// keys cannot be told.
func parseSpec(raw []byte) (s spec, ok bool, err error) {
	fields, valid := resp.Map(raw)
	if !valid {
		return spec{}, false, ErrInfo
	}
	begin, from, valid := parsePart(fields["begin_search"])
	if !valid {
		return spec{}, false, ErrInfo
	}
	find, keys, valid := parsePart(fields["find_keys"])
	if !valid {
		return spec{}, false, ErrInfo
	}
	var reader placeReader
	switch begin {
	case "index":
		s.index = reader.read(from["index"])
	case "keyword":
		s.index = reader.read(from["startfrom"])
		keyword, err := resp.Bytes(from["keyword"])
		if err != nil || len(keyword) == 0 {
			return spec{}, false, ErrInfo
		}
		s.keyword = strings.ToUpper(string(keyword))
	default:
		return spec{}, false, nil
	}
	switch find {
	case "range":
		s.last, s.step, s.limit = reader.read(keys["lastkey"]), reader.read(keys["keystep"]), reader.read(keys["limit"])
	case "keynum":
		s.counted = true
		s.number, s.firstAt, s.step = reader.read(keys["keynumidx"]), reader.read(keys["firstkey"]), reader.read(keys["keystep"])
	default:
		return spec{}, false, nil
	}
	if reader.err != nil || s.step < 1 || s.counted && (s.number < 0 || s.firstAt < 0) || s.keyword == "" && s.index < 1 || s.index == 0 {
		return spec{}, false, ErrInfo
	}
	return s, true, nil
}

// parsePart reads the type and the details of one half of a specification.
func parsePart(raw []byte) (kind string, details map[string][]byte, ok bool) {
	part, ok := resp.Map(raw)
	if !ok {
		return "", nil, false
	}
	text, err := resp.Bytes(part["type"])
	if err != nil {
		return "", nil, false
	}
	details, _ = resp.Map(part["spec"]) // empty for what is unknown
	return string(text), details, true
}

// A placeReader reads numbers until one is not there or out of range.
type placeReader struct{ err error }

func (r *placeReader) read(raw []byte) int {
	n, err := place(raw)
	if err != nil {
		r.err = err
	}
	return n
}
