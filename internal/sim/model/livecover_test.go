package model

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
)

// byShape are commands whose replies no two servers have in common, and what a test compares
// in place of bytes. COMMAND and its subcommands are compared by TestCommandTable.
var byShape = map[string]func(reply any) any{
	"client|info": func(reply any) any { return strings.Contains(text(reply), "id=") },
	"info":        func(reply any) any { return strings.Contains(text(reply), "cluster_enabled:1") },
	"role":        func(reply any) any { return []any{text(reply.([]any)[0]), len(reply.([]any))} },
	"time":        func(reply any) any { return []int{len(reply.([]any)), len(text(reply.([]any)[0]))} },
}

// TestEveryCommandIsCompared: each command of the model is in the random commands of
// TestFidelity, in the scenes of TestFidelityOfScripts, or compared by the shape of its reply.
func TestEveryCommandIsCompared(t *testing.T) {
	scripts, err := os.ReadFile("livescripts_test.go")
	require.NoError(t, err)
	for _, name := range Commands() {
		words := strings.ToUpper(strings.ReplaceAll(name, "|", " "))
		drawn := slices.ContainsFunc(templates, func(template string) bool {
			return strings.HasPrefix(strings.TrimPrefix(template, "~")+" ", words+" ")
		})
		if byShape[name] == nil && !drawn && !strings.HasPrefix(name, "command") {
			require.Regexp(t, `(?m)^\t+\d\w*[.>]? `+words+`\b`, string(scripts), "%s is compared with no server", name)
		}
	}
}

// TestFidelityOfShapes compares replies that differ between any two servers.
func TestFidelityOfShapes(t *testing.T) {
	eachServer(t, func(t *testing.T, binary string, dialect Dialect) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		real := servers.StartCluster(t, servers.Options{Primaries: 1, Replicas: 1, Binary: binary}).Nodes()
		twin := New(Options{Primaries: 1, Replicas: 1, Dialect: dialect}).Nodes()
		for i := range real {
			s := twin[i].NewSession(nil)
			for name, shape := range byShape {
				var args [][]byte
				for word := range strings.SplitSeq(name, "|") {
					args = append(args, []byte(word))
				}
				var theirs any
				require.NoError(t, real[i].Do(ctx, &theirs, string(args[0]), strings.Split(name, "|")[1:]...))
				reply, _ := s.Do(args)
				var mine any
				require.NoError(t, resp3.Unmarshal(bufio.NewReader(bytes.NewReader(reply)), &mine, radixresp.NewOpts()))
				require.Equal(t, shape(theirs), shape(mine), "%s at node %d", name, i)
			}
			s.Close()
		}
	})
}
