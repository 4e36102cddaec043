package pipeline_test

import (
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
)

// TestReceiversOfErrors: a receiver that takes errors as values gets an error of
// the server, as from radix itself, others stay as they were, and the command
// has failed in any case.
func TestReceiversOfErrors(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	client := open(t, cluster.Config{}, server.Addrs())
	ctx := within(t, 10*time.Second)
	const text = "WRONGTYPE Operation against a key holding the wrong kind of value"
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "k", "text")))

	var raw resp3.RawMessage
	var simple resp3.SimpleError
	number, good := 7, 0
	p := pipeline.New(client)
	replies := []pipeline.Reply{
		p.Append(radix.Cmd(&raw, "LLEN", "k")),
		p.Append(radix.Cmd(&simple, "LLEN", "k")),
		p.Append(radix.Cmd(&number, "LLEN", "k")),
		p.Append(radix.Cmd(nil, "LLEN", "k")),
	}
	p.Append(radix.Cmd(&good, "STRLEN", "k"))
	var failed *redislanes.PipelineError
	require.ErrorAs(t, p.Do(ctx), &failed)
	require.Equal(t, []int{4, 5}, []int{failed.Failed, failed.Total})
	require.Equal(t, "-"+text+"\r\n", string(raw))
	require.Equal(t, text, simple.S)
	require.Equal(t, []int{7, 4}, []int{number, good})
	for _, reply := range replies {
		var command *redislanes.Error
		require.ErrorAs(t, reply.Err(), &command)
		require.Equal(t, "LLEN", command.Command)
	}
}
