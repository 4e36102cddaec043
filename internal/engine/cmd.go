package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4"
	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/resp"
)

// Cmd is cluster.Client.Cmd.
func (c *Client) Cmd(ctx context.Context, name string, args []any) Reply {
	list := NewCommands(c, false)
	words, err := flatten(name, args)
	if err == nil {
		err = c.usable(ctx)
	}
	if err == nil {
		err = c.Append(&list.Request, resp.AppendCommand(nil, name, words...))
	}
	reply := Reply{of: &list}
	if err != nil {
		reply = list.Refuse(strings.ToUpper(name), err)
	} else {
		err = list.Do(ctx, How{})
	}
	list.state = executed
	if errors.Is(err, cause.ErrNotPipelinable) {
		list.alone, list.addr, list.err = c.cmdAlone(ctx, name, words)
		list.name, reply.index = strings.ToUpper(name), 0
	}
	return reply
}

// cmdAlone sends a command that needs a dedicated connection. It returns the reply, and the
// address of the server.
func (c *Client) cmdAlone(ctx context.Context, name string, words []string) (raw []byte, addr string, err error) {
	var reply value
	action := radix.Cmd(&reply, name, words...)
	conn := c.routed(action.Properties(), How{})
	err = conn.perform(ctx, action)
	return reply.RawMessage, conn.addr, err
}

// A value is a reply as it came. An error reply is the command's error, unlike with a
// resp3.RawMessage.
type value struct{ resp3.RawMessage }

func (v *value) UnmarshalRESP(br radixresp.BufferedReader, o *radixresp.Opts) error {
	if first, err := br.Peek(1); err == nil && resp.IsError(first) {
		return resp3.Unmarshal(br, nil, o)
	}
	return v.RawMessage.UnmarshalRESP(br, o)
}

// flatten returns arguments as radix.FlatCmd sends them, those of a named type as the
// number or string that they are. A type that cannot be sent is an error, also if its own
// methods panic.
func flatten(name string, args []any) (words []string, err error) {
	defer guard.Catch("the arguments of "+name, &err)
	words = make([]string, 0, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			words = append(words, v)
		case int:
			words = append(words, strconv.Itoa(v))
		case time.Duration:
			return nil, fmt.Errorf("argument %d is a time.Duration: pass a number in the unit of the command: %w", i+1, redislanes.ErrNotSent)
		default:
			flat, err := resp3.Flatten(arg, nil)
			if err != nil {
				flat, err = resp3.Flatten(unnamed(arg), nil)
			}
			if err != nil {
				return nil, fmt.Errorf("argument %d is a %T, which cannot be sent: %w", i+1, arg, redislanes.ErrNotSent)
			}
			words = append(words, flat...)
		}
	}
	return words, nil
}

// unnamed returns a value of a named type, such as type ID int64, as one of the basic type.
func unnamed(arg any) any {
	switch v := reflect.ValueOf(arg); {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	case v.CanFloat():
		return v.Float()
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Bool:
		return v.Bool()
	}
	return arg
}
