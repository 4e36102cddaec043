package engine

import (
	"errors"
	"strconv"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/resp"
)

// A Reply is the place of a command in [Commands]. Package cluster has its documentation
// and its decoding.
type Reply struct {
	of         *Commands
	index      int32
	generation uint32
}

// Raw returns the reply as it came from the server, or the command's error.
func (r Reply) Raw() ([]byte, error) {
	c := r.of
	switch {
	case c == nil:
		return nil, cause.ErrPending
	case c.generation != r.generation:
		return nil, cause.ErrStale
	case r.index < 0:
		return nil, c.refused[-r.index-1].error()
	case c.state != executed:
		return nil, cause.ErrPending
	case c.err != nil:
		return nil, c.err
	}
	return c.Request.Reply(int(r.index))
}

// Err returns why the command failed, also if its reply could not be decoded into its
// receiver.
func (r Reply) Err() error {
	if _, err := r.Raw(); err != nil {
		return err
	}
	return r.of.errorOf(int(r.index))
}

// Int decodes the reply, as do those that follow: see cluster.Reply.
func (r Reply) Int() (int64, error) {
	raw, err := r.Raw()
	if err != nil {
		return 0, err
	}
	n, err := resp.Int(raw)
	return n, r.Misfit(raw, "int64", err)
}

// Float is as in cluster.Reply.
func (r Reply) Float() (float64, error) {
	raw, err := r.Raw()
	if err != nil {
		return 0, err
	}
	f, b := 0.0, []byte(nil)
	if b, err = resp.Bytes(raw); err == nil {
		f, err = strconv.ParseFloat(string(b), 64)
	}
	if err != nil {
		return 0, r.Misfit(raw, "float64", err)
	}
	return f, nil
}

// Bytes returns memory of the reply.
func (r Reply) Bytes() ([]byte, error) {
	raw, err := r.Raw()
	if err != nil {
		return nil, err
	}
	b, err := resp.Bytes(raw)
	return b, r.Misfit(raw, "[]byte", err)
}

// IsNull is false if the command failed.
func (r Reply) IsNull() bool {
	raw, err := r.Raw()
	return err == nil && resp.IsNull(raw)
}

// Misfit returns the error of a reply that is not what into names; nil if err is nil.
func (r Reply) Misfit(raw []byte, into string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, resp.ErrNull):
		return r.Undecodable(err)
	}
	return r.Undecodable(&redislanes.DecodeError{Into: into, Kind: raw[0], Cause: err})
}

// Undecodable names the command and the node in the error of decoding its reply.
func (r Reply) Undecodable(err error) error {
	return r.of.Request.Undecodable(int(r.index), err)
}

// Node returns the address of the node that ran the command, "" if the command failed.
func (r Reply) Node() string {
	if _, err := r.Raw(); err != nil {
		return ""
	}
	return r.of.Request.Node(int(r.index))
}

// Repeatable is [Request.Repeatable], if the command was not sent yet.
func (r Reply) Repeatable() {
	if r.markable() {
		r.of.Request.Repeatable(int(r.index))
	}
}

// SetSlow is [Request.SetSlow], if the command was not sent yet.
func (r Reply) SetSlow(slow bool) {
	if r.markable() {
		r.of.Request.SetSlow(int(r.index), slow)
	}
}

// markable reports whether the command is in the request and was not sent yet.
func (r Reply) markable() bool {
	c := r.of
	return c != nil && c.generation == r.generation && r.index >= 0 && c.state == appending
}
