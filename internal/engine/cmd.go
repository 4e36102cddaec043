package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/redislanes/redislanes/internal/args"
	"github.com/redislanes/redislanes/internal/cause"
)

// Cmd is cluster.Client.Cmd.
func (c *Client) Cmd(ctx context.Context, name string, arguments []any) Reply {
	list := NewCommands(c, false, nil)
	encoded, err := args.Append(nil, name, arguments)
	if err == nil {
		err = c.Usable(ctx)
	}
	if err == nil {
		if err = c.Append(&list.Request, encoded); errors.Is(err, cause.ErrNotPipelinable) {
			err = c.AppendOwn(&list.Request, encoded)
		}
	}
	reply := Reply{of: &list}
	if err != nil {
		reply = list.Refuse(strings.ToUpper(name), err)
	} else {
		_ = list.Do(ctx, How{})
	}
	list.state = executed
	return reply
}
