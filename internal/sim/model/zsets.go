package model

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Sorted sets know what concurrency limits need: ZRANGE goes by index only, and there is no
// order by name.
func init() {
	register("zadd -4 write,denyoom,fast 1 1 1", zadd)
	register("zrem -3 write,fast 1 1 1", zrem)
	register("zcard 2 readonly,fast 1 1 1", zcard)
	register("zscore 3 readonly,fast 1 1 1", zscore)
	register("zrange -4 readonly 1 1 1", zrange)
	register("zremrangebyscore 4 write 1 1 1", zremrangebyscore)
}

const errNotFloat = "ERR value is not a valid float"

// parseScore reads a number as strtod does.
func parseScore(b []byte) (float64, bool) {
	if strings.Contains(string(b), "_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(b), 64)
	return f, err == nil && !math.IsNaN(f)
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

// zaddOptions are those of ZADD.
type zaddOptions struct{ nx, xx, gt, lt, ch, incr bool }

// read reads the options in front of the scores, and returns what is behind them.
func (o *zaddOptions) read(args [][]byte) (rest [][]byte) {
	flags := map[string]*bool{"NX": &o.nx, "XX": &o.xx, "GT": &o.gt, "LT": &o.lt, "CH": &o.ch, "INCR": &o.incr}
	for len(args) > 0 && flags[upper(args[0])] != nil {
		*flags[upper(args[0])] = true
		args = args[1:]
	}
	return args
}

// refuse returns why the options, and so many arguments behind them, cannot be, or nothing.
func (o *zaddOptions) refuse(rest int) string {
	switch {
	case rest == 0 || rest%2 == 1:
		return errSyntax
	case o.nx && o.xx:
		return "ERR XX and NX options at the same time are not compatible"
	case o.gt && o.nx || o.lt && o.nx || o.gt && o.lt:
		return "ERR GT, LT, and/or NX options at the same time are not compatible"
	case o.incr && rest > 2:
		return "ERR INCR option supports a single increment-element pair"
	}
	return ""
}

func zadd(c *call) {
	var o zaddOptions
	rest := o.read(c.args[2:])
	if text := o.refuse(len(rest)); text != "" {
		c.err(text)
		return
	}
	scores := make([]float64, len(rest)/2)
	for i := range scores {
		var ok bool
		if scores[i], ok = parseScore(rest[2*i]); !ok {
			c.err(errNotFloat)
			return
		}
	}
	e, ok := c.typed(c.args[1], kindZset)
	if !ok {
		return
	}
	if e == nil && !o.xx {
		e = c.make(c.args[1], kindZset)
	}
	added, changed, done := 0, 0, false
	var last float64
	for i, score := range scores {
		if e == nil {
			break
		}
		member := string(rest[2*i+1])
		old, is := e.scores[member]
		if o.incr && is {
			score += old
		}
		if is && o.nx || !is && o.xx || is && (o.gt && score <= old || o.lt && score >= old) {
			continue
		}
		if math.IsNaN(score) {
			c.err("ERR resulting score is not a number (NaN)")
			return
		}
		e.scores[member], last, done = score, score, true
		switch {
		case !is:
			added++
		case score != old:
			changed++
		}
	}
	if added+changed > 0 {
		c.n.changed(string(c.args[1]))
	}
	switch {
	case o.incr && !done:
		c.null()
	case o.incr:
		c.score(last)
	case o.ch:
		c.int(int64(added + changed))
	default:
		c.int(int64(added))
	}
}

func zrem(c *call) {
	e, ok := c.typed(c.args[1], kindZset)
	if !ok {
		return
	}
	removed := int64(0)
	if e != nil {
		for _, member := range c.args[2:] {
			if _, is := e.scores[string(member)]; is {
				delete(e.scores, string(member))
				removed++
			}
		}
		if removed > 0 {
			c.shrunk(c.args[1], e)
		}
	}
	c.int(removed)
}

func zcard(c *call) {
	if e, ok := c.typed(c.args[1], kindZset); ok {
		n := 0
		if e != nil {
			n = len(e.scores)
		}
		c.int(int64(n))
	}
}

func zscore(c *call) {
	e, ok := c.typed(c.args[1], kindZset)
	if !ok {
		return
	}
	if e != nil {
		if score, is := e.scores[string(c.args[2])]; is {
			c.score(score)
			return
		}
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
	reverse, withScores := false, false
	for _, word := range c.args[4:] {
		switch upper(word) {
		case "REV":
			reverse = true
		case "WITHSCORES":
			withScores = true
		default:
			c.err(errSyntax)
			return
		}
	}
	start, ok := c.integer(c.args[2])
	if !ok {
		return
	}
	stop, ok := c.integer(c.args[3])
	if !ok {
		return
	}
	e, ok := c.typed(c.args[1], kindZset)
	if !ok {
		return
	}
	var members []string
	if e != nil {
		members = e.ranked()
	}
	if reverse {
		slices.Reverse(members)
	}
	if start < 0 {
		start = max(start+int64(len(members)), 0)
	}
	if stop < 0 {
		stop += int64(len(members))
	}
	stop = min(stop, int64(len(members))-1)
	if start > stop {
		c.array(0)
		return
	}
	members = members[start : stop+1]
	switch {
	case !withScores:
		c.array(len(members))
	case c.resp > 2:
		c.array(len(members))
	default:
		c.array(2 * len(members))
	}
	for _, member := range members {
		if withScores && c.resp > 2 {
			c.array(2)
		}
		c.bulkString(member)
		if withScores {
			c.score(e.scores[member])
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
	f, ok = parseScore(b)
	return f, without, ok
}

func zremrangebyscore(c *call) {
	least, above, ok := bound(c.args[2])
	most, below, okToo := bound(c.args[3])
	if !ok || !okToo {
		c.err("ERR min or max is not a float")
		return
	}
	e, ok := c.typed(c.args[1], kindZset)
	if !ok {
		return
	}
	removed := int64(0)
	if e != nil {
		for member, score := range e.scores {
			if score < least || above && score == least || score > most || below && score == most {
				continue
			}
			delete(e.scores, member)
			removed++
		}
		if removed > 0 {
			c.shrunk(c.args[1], e)
		}
	}
	c.int(removed)
}
