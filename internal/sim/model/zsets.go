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
	register("zrem -3 write,fast 1 1 1", held(kindZset, zrem))
	register("zcard 2 readonly,fast 1 1 1", sized(kindZset))
	register("zscore 3 readonly,fast 1 1 1", held(kindZset, zscore))
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

// take gives a member its score as the options want it.
func (o *zaddOptions) take(scores map[string]float64, member string, score float64) (now float64, added, done bool) {
	old, is := scores[member]
	if o.incr && is {
		score += old
	}
	if is && o.nx || !is && o.xx || is && (o.gt && score <= old || o.lt && score >= old) {
		return old, false, false
	}
	if !math.IsNaN(score) {
		scores[member] = score
	}
	return score, !is, true
}

func zadd(c *call) {
	var o zaddOptions
	rest := o.read(c.args[2:])
	if text := o.refuse(len(rest)); text != "" {
		c.err(text)
		return
	}
	given := make([]float64, len(rest)/2)
	for i := range given {
		var ok bool
		if given[i], ok = parseScore(rest[2*i]); !ok {
			c.err(errNotFloat)
			return
		}
	}
	e, ok := c.held(kindZset)
	if !ok {
		return
	}
	if e.scores == nil && !o.xx {
		e = c.make(c.args[1], kindZset)
	}
	scores := e.scores
	count, changed, done, last := int64(0), false, false, 0.0
	for i, score := range given {
		member := string(rest[2*i+1])
		before := scores[member]
		var added bool
		if last, added, done = o.take(scores, member, score); math.IsNaN(last) {
			c.err("ERR resulting score is not a number (NaN)")
			return
		}
		if done && (added || last != before) {
			changed = true
			if added || o.ch {
				count++
			}
		}
	}
	if changed {
		c.n.changed(string(c.args[1]))
	}
	switch {
	case o.incr && !done:
		c.null()
	case o.incr:
		c.score(last)
	default:
		c.int(count)
	}
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
	start, stop, ok := c.integers(c.args[2], c.args[3])
	if !ok {
		return
	}
	e, ok := c.held(kindZset)
	if !ok {
		return
	}
	members := e.ranked()
	if reverse {
		slices.Reverse(members)
	}
	c.ranks(between(members, start, stop), e.scores, withScores)
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
	if e, ok := c.held(kindZset); ok {
		before := len(e.scores)
		maps.DeleteFunc(e.scores, func(_ string, score float64) bool {
			return (score > least || score == least && !above) && (score < most || score == most && !below)
		})
		c.removed(e, before-len(e.scores))
	}
}
