package nodepool

import (
	"context"
	"errors"
	"sync"

	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/wire"
)

// A streamReceiver decodes for a caller of a stream. radix calls it on a goroutine of its own,
// where a panic would end the program. If the caller's context has ended, radix calls it again
// for the replies to the caller's commands, and it discards them.
type streamReceiver struct {
	ctx     context.Context
	replies int // to the caller's commands; 0: the caller only waits for a message

	mu     sync.Mutex // guards what follows, and into while it is written
	into   any
	called bool
	done   bool // it was read, whether it fits into the receiver or not
	left   bool
	err    error // why nothing was decoded, although the connection can be used
}

// leave waits for a decoding that is under way. It returns whether a message or reply was taken off
// the connection, and why the caller does not have it. From then on, the receiver is the caller's.
func (r *streamReceiver) leave() (taken bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = true
	return r.done, r.err
}

// UnmarshalRESP is part of resp.Unmarshaler.
func (r *streamReceiver) UnmarshalRESP(br radixresp.BufferedReader, o *radixresp.Opts) error {
	if r.replies > 0 {
		if _, err := br.Peek(1); err != nil { // without the lock, which the caller needs to leave
			return err
		}
	}
	if mine, err := r.decode(br, o); mine {
		if r.replies > 0 && errors.As(err, new(*guard.PanicError)) {
			err = wire.Undecoded(err, r.into)
		}
		return err
	}
	for range r.replies {
		if err := resp3.Unmarshal(br, nil, o); err != nil && !errors.As(err, new(radixresp.ErrConnUsable)) {
			return err
		}
	}
	return nil
}

// decode decodes into the caller's receiver, unless the caller does not wait for it. An error
// after which the connection can be used is kept for leave: radix would take it for the end of
// the context, and discard the next message.
func (r *streamReceiver) decode(br radixresp.BufferedReader, o *radixresp.Opts) (mine bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.replies > 0 {
		r.err = wire.AfterContext(r.ctx.Err())
	}
	if r.err != nil || r.called || r.left {
		return false, nil
	}
	mine, r.called = true, true
	defer guard.Catch("the decoding of a message", &err)
	err = resp3.Unmarshal(br, r.into, o)
	if errors.As(err, new(radixresp.ErrConnUsable)) {
		if r.replies > 0 {
			err = wire.Undecoded(err, r.into)
		}
		r.err, err = err, nil
	}
	r.done = err == nil
	return mine, err
}
