package sim

import (
	"strconv"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pipeline"
)

// Scenes about requests: those that are used again, and those that no client may send.
func scenesOfRequests() []scene {
	return []scene{
		{
			kind: kind{name: "pipelines of goroutines that are used again", harmless: true, weight: 3, least: 2 * time.Second, most: 3 * time.Second},
			fits: clustered, play: usedAgain,
		},
		{
			kind: kind{name: "requests for a connection of their own", harmless: true, gentle: true, weight: 2, least: 200 * time.Millisecond, most: time.Second},
			play: unfit,
		},
	}
}

// usedAgain uses pipelines again whose goroutines have left a reply of a slow node behind.
func usedAgain(p *play) {
	n := p.w.primary(p.f)
	other := p.another(n)
	if other == nil {
		return
	}
	defer p.impose(n, simnet.Conditions{Latency: 120 * time.Millisecond})()
	for i := 0; p.w.rec.now() < p.f.until()-time.Second; i++ {
		late, prompt := p.keyAt(n.Index(), "ua", 2*i), p.keyAt(other.Index(), "ua", 2*i+1)
		pl := pipeline.Config{Goroutines: true}.New(p.w.client)
		count := func(keys ...string) func(a *attempt) {
			return func(a *attempt) {
				pl.Reset()
				var replies []pipeline.Reply
				for _, key := range keys {
					by := a.amount()
					a.Commands = append(a.Commands, write("INCRBY", key, strconv.FormatInt(by, 10)))
					replies = append(replies, pl.IncrBy(key, by))
				}
				a.do(pl, replies)
			}
		}
		p.callBy("pipeline", 100*time.Millisecond, count(late, prompt))
		p.callBy("pipeline", 2*time.Second, count(late, prompt, late))
		p.callBy("pipeline", 2*time.Second, count(prompt, prompt))
		time.Sleep(50 * time.Millisecond) // once the client is closed, calls take no time
	}
}

// unfit makes requests by hand that hold what must have its connection to itself.
func unfit(p *play) {
	n := p.w.primary(p.f)
	for i, words := range [][]string{{"MULTI"}, {"BLPOP", "", "1"}, {"SUBSCRIBE", "news"}, {"CLIENT", "REPLY", "OFF"}} {
		p.callBy("misuse", time.Second, func(a *attempt) {
			key := p.keyAt(n.Index(), "uf", i)
			value := a.value(key)
			a.Misuse, a.Commands = true, []Command{write("SET", key, value)}
			if words[0] == "BLPOP" {
				words[1] = key
			}
			var r engine.Request
			slot := int32(cluster.Slot(key))
			r.Commit(resp.AppendCommand(r.Buffer(), "SET", key, value), slot)
			r.Commit(resp.AppendCommand(r.Buffer(), words[0], words[1:]...), slot)
			a.Err = (*engine.Client)(a.w.client).Exec(a.ctx, &r, engine.How{})
			a.Commands[0].settle("", a.Err)
		})
	}
}
