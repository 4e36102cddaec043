package model

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Sorted sets know what concurrency limits need: ZADD has no options, ZRANGE goes by index only, and
// there is no order by name.
func init() {
	register("zadd -4 write,denyoom,fast 1 1 1", zadd)
	register("zrem -3 write,fast 1 1 1", held(kindZset, zrem))
	register("zcard 2 readonly,fast 1 1 1", sized(kindZset))
	register("zscore 3 readonly,fast 1 1 1", held(kindZset, zscore))
	register("zrange -4 readonly 1 1 1", zrange)
	register("zremrangebyscore 4 write 1 1 1", zremrangebyscore)
}

const errNotFloat = "ERR value is not a valid float"

// parseFloat reads a number as strtod does, which also reads hexadecimal ones without an exponent. It is no number if it
// is too large or too small.
func parseFloat(b []byte) (float64, bool) {
	text := strings.ToLower(string(b))
	if strings.Contains(text, "0x") && !strings.Contains(text, "p") {
		text += "p0"
	}
	f, err := strconv.ParseFloat(text, 64)
	digits, _, _ := strings.Cut(text, "e")
	tooSmall := f == 0 && !strings.Contains(text, "x") && strings.ContainsAny(digits, "123456789")
	return f, err == nil && !tooSmall && !math.IsNaN(f) && !strings.Contains(text, "_")
}

// score writes a score.
func (r *reply) score(f float64) {
	text := strconv.FormatFloat(f, 'g', 17, 64)
	if math.IsInf(f, 0) {
		text = strings.TrimPrefix(strings.ToLower(text), "+")
	}
	if r.resp > 2 {
		r.b = append(append(append(r.b, ','), text...), '\r', '\n')
		return
	}
	r.bulkString(text)
}

func zadd(c *call) {
	pairs := c.args[2:]
	if len(pairs)%2 == 1 {
		c.err(errSyntax)
		return
	}
	given := make([]float64, len(pairs)/2)
	for i := range given {
		var ok bool
		if given[i], ok = parseFloat(pairs[2*i]); !ok || c.dialect.valkey && bytes.ContainsAny(pairs[2*i], "xX") {
			c.err(errNotFloat)
			return
		}
	}
	e := c.make(c.args[1], kindZset)
	if e == nil {
		return
	}
	added, changed := int64(0), false
	for i, score := range given {
		member := string(pairs[2*i+1])
		old, is := e.scores[member]
		if !is {
			added++
		}
		changed = changed || !is || score != old
		e.scores[member] = score
	}
	if changed {
		c.n.changed(string(c.args[1]))
	}
	c.int(added)
}

func zrem(c *call, e *entry) {
	before := len(e.scores)
	for _, member := range c.args[2:] {
		delete(e.scores, string(member))
	}
	c.removed(e, before-len(e.scores))
}

func zscore(c *call, e *entry) {
	if score, is := e.scores[string(c.args[2])]; is {
		c.score(score)
		return
	}
	c.null()
}

// ranked returns the members by their scores, and those of one score by their names.
func (e *entry) ranked() []string {
	return slices.SortedFunc(maps.Keys(e.scores), func(a, b string) int {
		return cmp.Or(cmp.Compare(e.scores[a], e.scores[b]), cmp.Compare(a, b))
	})
}

func zrange(c *call) {
	withScores := len(c.args) == 5 && upper(c.args[4]) == "WITHSCORES"
	if len(c.args) > 4 && !withScores {
		c.err(errSyntax)
		return
	}
	start, stop, ok := c.integers(c.args[2], c.args[3])
	if !ok {
		return
	}
	if e, ok := c.held(kindZset); ok {
		c.ranks(between(e.ranked(), start, stop), e.scores, withScores)
	}
}

// ranks answers the members, each with its score if withScores.
func (c *call) ranks(members []string, scores map[string]float64, withScores bool) {
	pairs := withScores && c.resp > 2
	if withScores && !pairs {
		c.array(2 * len(members))
	} else {
		c.array(len(members))
	}
	for _, member := range members {
		if pairs {
			c.array(2)
		}
		c.bulkString(member)
		if withScores {
			c.score(scores[member])
		}
	}
}

// bound reads a bound of a range of scores, which may leave out the score itself.
func bound(b []byte) (f float64, without, ok bool) {
	if len(b) > 0 && b[0] == '(' {
		without, b = true, b[1:]
	}
	if len(b) == 0 { // strtod makes nothing a zero
		return 0, without, true
	}
	f, ok = parseFloat(b)
	return f, without, ok
}

func zremrangebyscore(c *call) {
	least, above, ok := bound(c.args[2])
	most, below, okToo := bound(c.args[3])
	if !ok || !okToo {
		c.err("ERR min or max is not a float")
		return
	}
	if e, ok := c.held(kindZset); ok {
		before := len(e.scores)
		maps.DeleteFunc(e.scores, func(_ string, score float64) bool {
			return (score > least || score == least && !above) && (score < most || score == most && !below)
		})
		c.removed(e, before-len(e.scores))
	}
}
