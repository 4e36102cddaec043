package limit

import (
	"context"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// A draw is a run of the script for one ask, or a GET, which looks at the count of a window.
type draw struct {
	key   string
	get   bool
	args  [5]string // those of the script
	reply pipeline.Reply

	once    string // a marker: with it the script takes effect once, however often it runs
	counter bool   // the script is that of a window's counter
	sent    moment // with a marker: when it was last sent
	doubted moment // the beginning of the first try with an unknown outcome

	allowed          bool
	remaining        int64
	retryAt, resetAt time.Duration // from now
	from             int64         // where the stretch begins that was taken
	total            int64         // the count that GET has found
	err              error
}

func newDraw(key string, r *Rule, cost int64, now string, from int64) draw {
	per := float64(r.Window) / float64(time.Microsecond) / float64(r.Quota)
	return draw{key: key, args: [5]string{
		strconv.FormatFloat(per, 'f', -1, 64), strconv.FormatInt(r.burst(), 10), strconv.FormatInt(cost, 10), now, strconv.FormatInt(from, 10),
	}}
}

// look makes the draw leave the tokens where they are.
func (d *draw) look() { d.args[4] = "look" }

// draw sends all draws in one pipeline. Each has its error.
func (l *Limiter) draw(ctx context.Context, draws []*draw) {
	p := l.pipe()
	defer l.unpipe(p)
	for _, d := range draws {
		if d.get {
			d.reply = p.Cmd("GET", d.key)
			continue
		}
		script, keys := bucketScript, []string{d.key}
		if d.counter {
			script = counterScript
		}
		if d.once != "" {
			keys, d.sent = append(keys, d.once), present()
		}
		// It takes microseconds, and must not queue behind scripts that do not.
		d.reply = p.Eval(script, keys, d.args[:]...).Fast()
		if d.once != "" {
			d.reply.Idempotent()
		}
	}
	_ = p.Do(ctx)
	for _, d := range draws {
		d.err = d.read()
	}
}

func (d *draw) read() (err error) {
	if d.get {
		if d.total, err = d.reply.Int(); d.reply.IsNull() {
			d.total, err = 0, d.reply.Err()
		}
		return err
	}
	n, err := numbersOf(d.reply, 5)
	if err != nil {
		return err
	}
	d.allowed, d.remaining, d.from = n[0] == 1, n[1], n[4]
	d.retryAt, d.resetAt = time.Duration(n[2])*time.Microsecond, time.Duration(n[3])*time.Microsecond
	return nil
}

// now returns what stands in for the time of servers.
func (l *Limiter) now() string {
	if l.clock == nil {
		return ""
	}
	return l.clock()
}
