package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redislanes/redislanes/internal/resp"
)

// ErrInfo says that a reply is not one to COMMAND INFO of one command.
var ErrInfo = errors.New("command: not a reply to COMMAND INFO of one command")

// ParseInfo reads the reply to COMMAND INFO of one command, as it came from the
// server, and returns the rule for the command of that name; nil if the server
// does not know it. Key specifications are used where there are any (since Redis
// 7), otherwise the places of the first and the last key. A command whose keys
// only the server can find, or does not tell of, has its first argument as its
// key. It never panics, whatever the reply is.
func ParseInfo(reply []byte, name string) (*Rule, error) {
	list, ok := resp.Array(resp.WithoutAttributes(reply))
	if !ok || len(list) != 1 {
		return nil, ErrInfo
	}
	if resp.IsNull(list[0]) {
		return nil, nil
	}
	const deepest = 2 // a command and its subcommands
	return parseRule(list[0], strings.ToUpper(name), deepest)
}

// Places in the reply's description of a command.
const (
	infoName        = 0
	infoFlags       = 2
	infoFirst       = 3
	infoLast        = 4
	infoStep        = 5
	infoSpecs       = 8
	infoSubcommands = 9
)

func parseRule(raw []byte, name string, depth int) (*Rule, error) {
	fields, ok := resp.Array(raw)
	if !ok || len(fields) <= infoStep || depth == 0 {
		return nil, ErrInfo
	}
	r := &Rule{name: name}
	flags, ok := texts(fields[infoFlags])
	if !ok {
		return nil, ErrInfo
	}
	r.setFlags(flags)
	if err := r.setKeys(fields, slices.Contains(flags, "movablekeys")); err != nil {
		return nil, err
	}
	if len(fields) <= infoSubcommands {
		return r, nil
	}
	subcommands, _ := resp.Array(fields[infoSubcommands])
	for _, raw := range subcommands {
		fields, _ := resp.Array(raw)
		if len(fields) == 0 {
			return nil, ErrInfo
		}
		full, err := resp.Bytes(fields[infoName])
		if err != nil {
			return nil, ErrInfo
		}
		_, short, _ := strings.Cut(strings.ToUpper(string(full)), "|")
		sub, err := parseRule(raw, short, depth-1)
		if err != nil {
			return nil, err
		}
		r.subcommands = append(r.subcommands, *sub)
	}
	return r, nil
}

// setFlags takes from the flags what they tell of traits. There is no flag for
// what changes a connection, but pub/sub has one, which PUBLISH shares.
func (r *Rule) setFlags(flags []string) {
	r.traits |= Told
	has := func(flag string) bool { return slices.Contains(flags, flag) }
	switch {
	case has("write"):
	case has("readonly"):
		r.traits |= ReadOnly
	case has("may_replicate"):
		r.traits |= MayWrite
	}
	if has("blocking") {
		r.traits |= Blocking
	}
	if has("pubsub") && has("noscript") {
		r.effect = Unanswered
		r.traits |= Stateful
	}
}

// setKeys takes over where the keys are.
func (r *Rule) setKeys(fields [][]byte, movable bool) error {
	r.find, r.step = bySpecs, 1
	if len(fields) > infoSpecs {
		list, _ := resp.Array(fields[infoSpecs])
		for _, raw := range list {
			s, ok, err := parseSpec(raw)
			if err != nil {
				return err
			}
			if ok {
				r.specs = append(r.specs, s)
			}
		}
	}
	if len(r.specs) > 0 {
		return nil
	}
	var places [3]int
	for i := range places {
		n, err := place(fields[infoFirst+i])
		if err != nil {
			return err
		}
		places[i] = n
	}
	first, last, step := places[0], places[1], places[2]
	switch {
	case first > 0 && step > 0:
		// The last key counts from the command's name, or from the end.
		if last >= 0 {
			last -= first
		}
		r.specs = []spec{{index: first, last: last, step: step}}
	case movable:
		r.form.find = unknown.find
	default:
		r.form.find = byNone
	}
	return nil
}

// place reads a number that must be small.
func place(raw []byte) (int, error) {
	n, err := resp.Int(raw)
	if err != nil || n < -mostPlace || n > mostPlace {
		return 0, fmt.Errorf("%w: a place out of range", ErrInfo)
	}
	return int(n), nil
}

// texts returns the elements of an array or a set of texts, in lower case.
func texts(raw []byte) (list []string, ok bool) {
	all, ok := resp.Array(raw)
	for _, raw := range all {
		text, err := resp.Bytes(raw)
		if err != nil {
			return nil, false
		}
		list = append(list, strings.ToLower(string(text)))
	}
	return list, ok
}
