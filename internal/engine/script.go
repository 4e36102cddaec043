package engine

import (
	"bytes"
	"slices"

	"github.com/redislanes/redislanes/internal/resp"
)

// A script is the text of one that a command runs by its hash; "" once the command
// has it in place of the hash.
type script struct {
	command int
	text    string
}

var lineEnd = []byte("\r\n")

const evalSHA, eval = "EVALSHA", "EVAL"

// AppendScript appends EVALSHA with the script's hash. It is EVAL with its text
// where the server does not know the script, and where a later command of the
// request is for the same slot: behind that it could not be sent again.
func (c *Client) AppendScript(r *Request, hash, text string, keys, args []string) error {
	const fixed = 3 // the name, the hash and the number of keys
	b := resp.AppendArray(r.Buffer(), fixed+len(keys)+len(args))
	b = resp.AppendBulk(b, evalSHA)
	b = resp.AppendBulk(b, hash)
	b = resp.AppendBulkInt(b, int64(len(keys)))
	for _, s := range keys {
		b = resp.AppendBulk(b, s)
	}
	for _, s := range args {
		b = resp.AppendBulk(b, s)
	}
	if err := c.Append(r, b); err != nil {
		return err
	}
	r.scripts = append(r.scripts, script{r.Len() - 1, text})
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
	old := r.command(i)
	begin := bytes.Index(old, lineEnd) + len(lineEnd)
	rest := begin
	for range 2 { // the name and the hash, each of which has two lines
		for range 2 {
			rest += bytes.Index(old[rest:], lineEnd) + len(lineEnd)
		}
	}
	from := len(r.arena)
	b := append(r.arena, old[:begin]...)
	b = resp.AppendBulk(b, eval)
	b = resp.AppendBulk(b, r.scripts[at].text)
	r.arena = append(b, old[rest:]...)
	r.bounds[i] = bound{from, len(r.arena)}
	r.scripts[at].text = ""
	return true
}
