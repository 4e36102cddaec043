package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
)

// MGet returns the values of keys in any slots, in the order of the keys, nil for
// one that does not exist or is no string. It is one MGET for each slot, all in one
// pipeline: unlike those of MGET on one server, the values are not of one moment.
//
// Where commands fail, the values of the others are returned, with a
// [redislanes.PipelineError].
func MGet(ctx context.Context, client *cluster.Client, keys ...string) ([][]byte, error) {
	values := make([][]byte, len(keys))
	parts, err := splitBySlot(ctx, client, "MGET", keys, 1)
	for _, part := range parts {
		var found [][]byte
		if part.reply.Into(&found) != nil { // err says so
			continue
		}
		for i, at := range part.at {
			if i < len(found) {
				values[at] = found[i]
			}
		}
	}
	return values, err
}

// MSet sets keys in any slots to values: pairs is key, value, key, value and so on. It
// is one MSET for each slot, all in one pipeline: unlike with MSET on one server,
// others may see some of the values before the rest. Where commands fail, the
// error is a [redislanes.PipelineError], and the others have run.
func MSet(ctx context.Context, client *cluster.Client, pairs ...string) error {
	const pair = 2
	if len(pairs)%pair != 0 {
		return fmt.Errorf("redislanes: MSet: %d keys and values: the last key has no value: %w", len(pairs), redislanes.ErrNotSent)
	}
	_, err := splitBySlot(ctx, client, "MSET", pairs, pair)
	return err
}

// Del deletes keys in any slots and returns how many there were. It is one DEL for
// each slot, all in one pipeline. If commands fail, it returns the sum of the others and a
// [redislanes.PipelineError]. [Unlink] and [Exists] do the same.
func Del(ctx context.Context, client *cluster.Client, keys ...string) (int64, error) {
	return total(ctx, client, "DEL", keys)
}

// Unlink is [Del] by UNLINK, which frees the memory later.
func Unlink(ctx context.Context, client *cluster.Client, keys ...string) (int64, error) {
	return total(ctx, client, "UNLINK", keys)
}

// Exists returns how many of the keys exist. A key that is given twice counts twice.
func Exists(ctx context.Context, client *cluster.Client, keys ...string) (int64, error) {
	return total(ctx, client, "EXISTS", keys)
}

func total(ctx context.Context, client *cluster.Client, command string, keys []string) (sum int64, err error) {
	parts, err := splitBySlot(ctx, client, command, keys, 1)
	for _, part := range parts {
		if n, failed := part.reply.Int(); failed == nil { // else err says so
			sum += n
		}
	}
	return sum, err
}

// A part is one slot's command: its arguments, and where their keys are in the call.
type part struct {
	args  []any
	at    []int
	reply Reply
}

// splitBySlot sends the command for each slot of the keys, which are every step-th
// of the arguments.
func splitBySlot(ctx context.Context, client *cluster.Client, command string, args []string, step int) ([]*part, error) {
	var parts []*part
	of := make(map[uint16]*part)
	for i := 0; i < len(args); i += step {
		slot := cluster.Slot(args[i])
		if of[slot] == nil {
			of[slot] = new(part)
			parts = append(parts, of[slot])
		}
		p := of[slot]
		for _, arg := range args[i : i+step] {
			p.args = append(p.args, arg)
		}
		p.at = append(p.at, i/step)
	}
	pipe := New(client)
	for _, p := range parts {
		p.reply = pipe.Cmd(command, p.args...)
	}
	err := pipe.Do(ctx)
	var failed *redislanes.PipelineError
	if err != nil && !errors.As(err, &failed) {
		return nil, err // nothing was sent
	}
	return parts, err
}
