package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// do executes the pipeline and notes what became of its commands, whose replies
// are in the same order.
func (a *attempt) do(p *pipeline.Pipeline, replies []pipeline.Reply) {
	a.Err = p.Do(a.ctx)
	for i, r := range replies {
		a.Commands[i].settle(replyText(r), r.Err())
	}
}

func replyText(r pipeline.Reply) string {
	if r.IsNull() {
		return null
	}
	text, _ := r.Text()
	return text
}

func (a *attempt) newPipeline() *pipeline.Pipeline {
	c := pipeline.Config{Sequential: chance(a.r, 20)}
	if chance(a.r, 10) {
		c.Group = cluster.BySlot
	}
	return c.New(a.w.client)
}

// pipeline is the call of a rate limiter: INCRBY and EXPIRE for a few keys.
func (a *attempt) pipeline() { a.count(1+a.r.IntN(6), counterKeys) }

// largePipeline has many commands.
func (a *attempt) largePipeline() {
	n := 20 + a.r.IntN(60)
	if chance(a.r, 8) {
		n = 500 // 1,000 commands travel as slow ones
	}
	a.count(n, 300)
}

func (a *attempt) count(n, keys int) {
	p := a.newPipeline()
	var replies []pipeline.Reply
	for range n {
		key, by := fmt.Sprint("p:", a.r.IntN(keys)), a.amount()
		a.Commands = append(a.Commands, write("INCRBY", key, strconv.FormatInt(by, 10)))
		replies = append(replies, p.IncrBy(key, by))
		// Its milliseconds make the command's text unique.
		ttl := time.Minute + time.Duration(a.r.IntN(1<<22))*time.Second + time.Duration(1+a.r.IntN(999))*time.Millisecond
		expire := write("PEXPIRE", key, strconv.FormatInt(ttl.Milliseconds(), 10))
		if chance(a.r, 2) {
			expire.Text += " NX"
			replies = append(replies, p.ExpireNX(key, ttl))
		} else {
			replies = append(replies, p.Expire(key, ttl))
		}
		expire.TTL, expire.Twice = ttl, true
		a.Commands = append(a.Commands, expire)
	}
	a.do(p, replies)
}

// values sets keys of the caller's own and reads them, in one slot or two.
func (a *attempt) values() {
	p := a.newPipeline()
	var replies []pipeline.Reply
	for range 1 + a.r.IntN(2) {
		key := a.own()
		for range 1 + a.r.IntN(3) {
			value := a.value(key)
			a.Commands = append(a.Commands, write("SET", key, value))
			replies = append(replies, p.Cmd("SET", key, value))
		}
		a.Commands = append(a.Commands, read("GET", key))
		replies = append(replies, p.Cmd("GET", key))
	}
	a.do(p, replies)
}

func read(name, key string) Command {
	return Command{Text: name + " " + key, Name: name, Key: key, Slot: int(cluster.Slot(key))}
}

// largeValue sets a large value and reads it.
func (a *attempt) largeValue() {
	p := pipeline.New(a.w.client)
	key := fmt.Sprintf("big:%d", a.r.IntN(4))
	value := a.value(key) + strings.Repeat(".", 1<<(10+a.r.IntN(8)))
	a.Commands = []Command{write("SET", key, value), read("GET", key)}
	a.Commands[1].Slot = -1 // others set it, too
	a.do(p, []pipeline.Reply{p.Cmd("SET", key, value), p.Cmd("GET", key)})
}

// hitKeys is how many keys of each kind are counted by Counters.
const hitKeys = 10

// hits counts with Counters.
func (a *attempt) hits() {
	var hits []pipeline.Hit
	for i := range 1 + a.r.IntN(4) {
		key, ttl := fmt.Sprint("c:", a.r.IntN(hitKeys)), 30*time.Minute
		if chance(a.r, 5) {
			key, ttl = fmt.Sprint("s:", a.r.IntN(4)), time.Duration(3+a.r.IntN(8))*time.Second
		}
		if i > 0 && chance(a.r, 2) { // so that others wait behind the two
			key, ttl = hits[i-1].Key, hits[i-1].TTL
		}
		hits = append(hits, a.hitting(key, a.amount(), ttl))
	}
	a.hit(hits)
}
