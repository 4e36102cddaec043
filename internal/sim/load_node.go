package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/pipeline"
)

// eachPrimary is the kind of calls that go to all primaries, each as the node that it
// is: what fails there is not sent elsewhere.
const eachPrimary = "each primary"

// echoes sends an ECHO to each primary, and waits for all of them.
func (a *attempt) echoes() {
	base := a.r.Uint64()
	var mu sync.Mutex // guards the commands
	a.Err = a.w.client.ForEachPrimary(a.ctx, func(ctx context.Context, node radix.Client) error {
		text := fmt.Sprintf("%s%x.%v", canary, base, node.Addr())
		said := ""
		err := node.Do(ctx, radix.Cmd(&said, "ECHO", text))
		cmd := Command{Text: "ECHO " + text, Name: "ECHO", Slot: -1}
		cmd.settle(said, err)
		mu.Lock()
		defer mu.Unlock()
		a.Commands = append(a.Commands, cmd)
		return err
	})
	slices.SortFunc(a.Commands, func(x, y Command) int { return strings.Compare(x.Text, y.Text) })
}

// pipelined appends to a pipeline what no connection may be used for which others use, too.
func pipelined(name string, args ...string) func(a *attempt) error {
	return func(a *attempt) error {
		key, value := a.mistaken()
		p := pipeline.New(a.w.client)
		p.Cmd("SET", key, value)
		p.Cmd(name, args...)
		return p.Do(a.ctx)
	}
}
