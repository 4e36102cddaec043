package pipeline

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
)

// A Script is a Lua script for [Pipeline.Eval]. It is immutable and safe for
// concurrent use; make it once, with [NewScript].
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

// Eval appends a run of the script, which may touch the keys, all in one slot. It is
// sent as EVALSHA with its hash; a server that does not know it (NOSCRIPT), such as
// one that was restarted, is sent the text by EVAL within the same Do. Where a
// later command of the pipeline is for the same slot, the text goes at once, so that
// the commands keep their order.
//
// Scripts are slow, as far as cluster.Config does not say otherwise: see
// [Reply.Fast]. They are not idempotent unless marked.
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
