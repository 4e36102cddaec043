package pipeline

import (
	"errors"
	"strconv"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// A Reply is what one command of a pipeline got. It is valid from the
// pipeline's Do until its Reset. Its methods return the error of the command
// if it failed: a redislanes.CommandError, which wraps resp3.SimpleError for an
// error of the server, and redislanes.ErrNotSent or redislanes.ErrUnknownOutcome where
// there is no reply. They follow the pipeline's rule for concurrent use.
type Reply struct {
	pipeline   *Pipeline
	index      int32
	generation uint32
}

// Idempotent marks the command as one that may run twice without harm, before
// Do: if a connection breaks and its outcome is unknown, it is sent again. If the
// repeat fails, the outcome stays unknown (redislanes.ErrUnknownOutcome).
// Commands of Cmd that only read are marked from the start. It returns r.
func (r Reply) Idempotent() Reply {
	if r.markable() {
		r.pipeline.request.Repeatable(int(r.index))
	}
	return r
}

// Slow marks the command as slow, before Do. In a laned pool, slow commands
// travel on lanes of their own (pool.Laned.SlowLanes), so that those of others do
// not queue behind them; the other commands of the same slot go along, to keep
// their order. Commands that cluster.Config says are slow are marked from the
// start. It returns r.
func (r Reply) Slow() Reply { return r.setSlow(true) }

// Fast takes the mark of Slow away, also one from the start: from an LRANGE of a
// few elements, for example. It returns r.
func (r Reply) Fast() Reply { return r.setSlow(false) }

func (r Reply) setSlow(slow bool) Reply {
	if r.markable() {
		r.pipeline.request.SetSlow(int(r.index), slow)
	}
	return r
}

// markable reports whether the command is in the pipeline and was not sent yet.
func (r Reply) markable() bool {
	p := r.pipeline
	return p != nil && p.generation == r.generation && r.index >= 0 && p.state == appending
}

// raw returns the reply as it came from the server.
func (r Reply) raw() ([]byte, error) {
	p := r.pipeline
	switch {
	case p == nil:
		return nil, redislanes.ErrPending
	case p.generation != r.generation:
		return nil, redislanes.ErrStale
	case r.index < 0:
		return nil, p.refused[-r.index-1].error()
	case p.state != executed:
		return nil, redislanes.ErrPending
	case p.err != nil:
		return nil, p.err
	}
	return p.request.Reply(int(r.index))
}

// Err returns why the command failed, nil if it did not.
func (r Reply) Err() error {
	if _, err := r.raw(); err != nil {
		return err
	}
	return r.pipeline.errorOf(int(r.index))
}

// Int returns an integer, or a string that holds one.
func (r Reply) Int() (int64, error) {
	raw, err := r.raw()
	if err != nil {
		return 0, err
	}
	n, err := resp.Int(raw)
	if err != nil {
		return 0, r.undecodable(err)
	}
	return n, nil
}

// Float returns a number, or a string that holds one.
func (r Reply) Float() (float64, error) {
	s, err := r.Text()
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, r.undecodable(errors.New("the reply is not a number"))
	}
	return f, nil
}

// Text returns a string, a status or a number as text.
func (r Reply) Text() (string, error) {
	b, err := r.Bytes()
	return string(b), err
}

// Bytes is Text without a copy: the result is valid until Reset and must not
// be changed.
func (r Reply) Bytes() ([]byte, error) {
	raw, err := r.raw()
	if err != nil {
		return nil, err
	}
	b, err := resp.Bytes(raw)
	if err != nil {
		return nil, r.undecodable(err)
	}
	return b, nil
}

// IsNull reports whether Redis replied null.
func (r Reply) IsNull() bool {
	raw, err := r.raw()
	return err == nil && resp.IsNull(raw)
}

// Into decodes the reply into what into points to, by radix's rules (package
// resp3): for arrays, maps and structs.
func (r Reply) Into(into any) error {
	raw, err := r.raw()
	if err != nil {
		return err
	}
	if err := wire.Unmarshal(raw, into); err != nil {
		return r.undecodable(err)
	}
	return nil
}

// undecodable names command and node in the error of decoding a reply, but for
// that of a null, which is a value like others.
func (r Reply) undecodable(err error) error {
	if errors.Is(err, resp.ErrNull) {
		return err
	}
	return r.pipeline.request.Undecodable(int(r.index), err)
}

// Node returns the address of the node that replied, "" if none did.
func (r Reply) Node() string {
	if _, err := r.raw(); err != nil {
		return ""
	}
	return r.pipeline.request.Node(int(r.index))
}
