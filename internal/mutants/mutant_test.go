package main

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// judged are outputs of a go test that failed. Some are of a test that failed, and the others of
// a run that did.
var judged = map[string]bool{
	"--- FAIL: TestX (0.00s)\nFAIL\n":                        true,
	"    --- FAIL: TestX/y (0.00s)\n":                        true,
	"panic: nil map\n\ngoroutine 1 [running]:\n":             true,
	"fatal error: all goroutines are asleep - deadlock!\n":   true,
	"WARNING: DATA RACE\n":                                   true,
	"panic: test timed out after 1m0s\n":                     true,
	"*** Test killed with quit: ran too long (1m10s).\n":     true,
	"leak: the tests passed, but goroutines are left (1):\n": true,
	"":                         false,
	"FAIL\tx [setup failed]\n": false,
	"# x\nlink: no space left on device\nFAIL\tx\n":                false,
	"signal: killed\nFAIL\tx\t3.1s\n":                              false,
	"--- FAIL: TestX\n    servers: no redis-server in the PATH\n":  false,
	"--- FAIL: TestX\n    servers: REDISLANES_TEST_SERVER = \"x\"": false,
}

// TestJudge: only a test that failed has noticed. A run that failed has not.
func TestJudge(t *testing.T) {
	status := new(exec.ExitError)
	for out, noticed := range judged {
		err := (&mutant{test: "./x TestX"}).judge([]byte(out), status)
		if noticed {
			require.NoError(t, err, out)
		} else {
			require.ErrorContains(t, err, "the test ./x TestX does not run", out)
		}
	}
}
