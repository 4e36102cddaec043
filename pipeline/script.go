package pipeline

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
)

// A Script is a Lua script for [Pipeline.Eval]. Make it once, with [NewScript]. It is immutable
// and safe for concurrent use.
type Script struct{ text, hash string }

// NewScript returns the script. Nothing is sent.
func NewScript(text string) *Script {
	sum := sha1.Sum([]byte(text))
	return &Script{text: text, hash: hex.EncodeToString(sum[:])}
}

// Hash returns the SHA-1 of the text in hexadecimal digits, by which servers know the
// script.
func (s *Script) Hash() string { return s.hash }

var errNoScript = errors.New("the script is nil or empty: make it with NewScript")

// Eval appends a run of the script. All of its keys must be in one slot. Do sends EVALSHA with the
// script's hash. To a server that does not know the script (NOSCRIPT), it then sends EVAL with the
// text. If a later command of the pipeline is for the same slot, Do sends EVAL at once, so that
// the commands keep their order.
//
// Scripts count as slow unless cluster.Config or [Reply.Fast] says otherwise. They are not
// idempotent unless marked.
func (p *Pipeline) Eval(s *Script, keys []string, args ...string) Reply {
	if err := p.list.Unfit(); err != nil {
		return p.refuse("EVALSHA", err)
	}
	if s == nil || s.text == "" {
		return p.refuse("EVALSHA", errNoScript)
	}
	if err := p.list.Client().AppendScript(&p.list.Request, s.hash, s.text, keys, args); err != nil {
		return p.refuse("EVALSHA", err)
	}
	return Reply(p.list.Last())
}
