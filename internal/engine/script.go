package engine

import (
	"slices"

	"github.com/redislanes/redislanes/internal/resp"
)

// A script is the text of one that a command runs by its hash; "" once the command
// has it in place of the hash.
type script struct {
	command    int
	text       string
	name, rest int // where the command's name begins, and what is behind the hash
}

// AppendScript appends EVALSHA with the script's hash. It is EVAL with its text
// where the server does not know the script, and where a later command of the
// request is for the same slot: behind that it could not be sent again.
func (c *Client) AppendScript(r *Request, hash, text string, keys, args []string) error {
	const fixed = 3 // the name, the hash and the number of keys
	s := script{command: r.Len(), text: text}
	b := resp.AppendArray(r.Buffer(), fixed+len(keys)+len(args))
	s.name = len(b) - len(r.arena)
	b = resp.AppendBulk(b, "EVALSHA")
	b = resp.AppendBulk(b, hash)
	s.rest = len(b) - len(r.arena)
	b = resp.AppendBulkInt(b, int64(len(keys)))
	for _, key := range keys {
		b = resp.AppendBulk(b, key)
	}
	for _, arg := range args {
		b = resp.AppendBulk(b, arg)
	}
	if err := c.Append(r, b); err != nil {
		return err
	}
	r.scripts = append(r.scripts, s)
	return nil
}

// spellOut puts their text into the commands that run scripts before others of
// their slot.
func (r *Request) spellOut() {
	if r.lastOf == nil {
		r.lastOf = make(map[int32]int)
	}
	last := r.lastOf
	clear(last)
	for _, s := range r.scripts {
		last[r.slots[s.command]] = s.command
	}
	for i, slot := range r.slots {
		if _, ok := last[slot]; ok {
			last[slot] = i
		}
	}
	for _, s := range r.scripts {
		if last[r.slots[s.command]] > s.command {
			r.sendText(s.command)
		}
	}
}

// sendText makes the i-th command EVAL, if it was EVALSHA of a script whose text is
// known. It is another place of the arena, since the old one may be on its way.
func (r *Request) sendText(i int) bool {
	at, ok := slices.BinarySearchFunc(r.scripts, i, func(s script, i int) int { return s.command - i })
	if !ok || r.scripts[at].text == "" {
		return false
	}
	s, old, from := &r.scripts[at], r.command(i), len(r.arena)
	b := append(r.arena, old[:s.name]...)
	b = resp.AppendBulk(b, "EVAL")
	b = resp.AppendBulk(b, s.text)
	r.arena = append(b, old[s.rest:]...)
	r.bounds[i] = bound{from, len(r.arena)}
	s.text = ""
	return true
}
