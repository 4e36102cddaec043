package counter

import (
	"strconv"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// Append appends the commands of the take's next round. Read must follow, also if they were not sent.
func (s *Server) Append(p *pipeline.Pipeline, t *Take) {
	if t.step == start {
		t.Applied, t.Err, t.n = false, nil, t.N
		t.Known = t.Known && t.Used > 0 // a key without hits may have gone
		t.step = s.first(t)
	}
	seconds := int64(t.TTL / time.Second)
	switch t.step {
	case look:
		t.main = p.Cmd("GET", t.Key)
	case set:
		t.main = p.Cmd("SET", t.Key, t.n, "EX", seconds, "NX", "GET")
	case incr:
		t.main = p.IncrBy(t.Key, t.n)
	case increx:
		if t.n < 0 {
			t.main = p.Cmd("INCREX", t.Key, "BYINT", t.n, "LBOUND", 0)
		} else {
			t.main = p.Cmd("INCREX", t.Key, "BYINT", t.n, "UBOUND", max(0, t.Bound-t.share()), "EX", seconds, "ENX")
		}
	case script:
		t.appendScript(p)
		return // a command behind the script would have it sent by EVAL
	case mend:
		t.expire = p.Expire(t.Key, t.TTL)
		return
	}
	if t.Before != "" {
		t.before = p.Cmd("GET", t.Before)
	}
	if t.step == incr && !t.Known {
		t.expire = p.ExpireNX(t.Key, t.TTL)
	}
}

func (t *Take) appendScript(p *pipeline.Pipeline) {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	keys := append(make([]string, 0, 2), t.Key)
	args := append(make([]string, 0, 7), number(t.n), number(t.Bound), number(int64(t.TTL/time.Second)), strconv.FormatBool(t.Known))
	if t.Before != "" {
		ratio := float64(t.Window.Left()) / float64(t.Window.Length) * (1 + 0x1p-50)
		keys = append(keys, t.Before)
		args = append(args, strconv.FormatFloat(ratio, 'g', 17, 64), number(t.UsedBefore), number(t.share()))
	}
	t.main = p.Eval(fittingScript, keys, args...).Fast()
}
