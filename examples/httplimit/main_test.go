package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/redistest"
)

// TestMain runs the program itself in the processes that TestLimiter starts.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_HTTPLIMIT") == "" {
		os.Exit(m.Run())
	}
	main()
}

// TestLimiter: 100 requests of a minute are served and the next one is denied. The metrics
// have both, and each signal that asks the program to end does so without an error.
func TestLimiter(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) { testLimiter(t, signal) })
	}
}

func testLimiter(t *testing.T, end os.Signal) {
	program, addr, log := start(t)
	codes := make(map[int]int)
	for codes[http.StatusTooManyRequests] == 0 {
		code, header, _ := get(t, "http://"+addr+"/")
		if codes[code]++; code == http.StatusTooManyRequests {
			wait, err := strconv.Atoi(header.Get("Retry-After"))
			require.NoError(t, err)
			require.LessOrEqual(t, wait, 60)
		}
		require.LessOrEqual(t, codes[http.StatusOK], 200, "a test that meets the end of a minute has two windows")
	}
	require.GreaterOrEqual(t, codes[http.StatusOK], 100)
	_, _, text := get(t, "http://"+addr+"/metrics")
	require.Contains(t, text, `redislanes_limit_decisions_total{limit="address",outcome="allowed"`)
	require.Contains(t, text, `redislanes_request_duration_seconds_count`)

	require.NoError(t, program.Process.Signal(end))
	require.NoError(t, program.Wait(), log.String())
	require.Empty(t, log.String())
}

// TestStalledClient: a client that does not send what it has announced does not keep the program
// from ending.
func TestStalledClient(t *testing.T) {
	t.Parallel()
	program, addr, log := start(t)
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { // the request has been counted, and its handler has run
		_, _, text := get(t, "http://"+addr+"/metrics")
		return strings.Contains(text, `redislanes_limit_decisions_total{limit="address",outcome="allowed"`)
	}, 30*time.Second, 10*time.Millisecond)

	require.NoError(t, program.Process.Signal(syscall.SIGTERM))
	guard := time.AfterFunc(30*time.Second, func() { _ = program.Process.Kill() })
	defer guard.Stop()
	require.NoError(t, program.Wait(), log.String())
}

// TestReadmeHasThisProgram: the program in README.md is this one, whole, so that it compiles
// when it is pasted into an empty module.
func TestReadmeHasThisProgram(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, pasted, found := strings.Cut(string(page), "```go\npackage main\n")
	require.True(t, found)
	pasted, _, _ = strings.Cut(pasted, "```")
	code, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, program, found := strings.Cut(string(code), "\npackage main\n")
	require.True(t, found)
	require.Equal(t, strings.Fields(program), strings.Fields(pasted))
}

// start starts the program and waits until it serves.
func start(t *testing.T) (program *exec.Cmd, addr string, log *bytes.Buffer) {
	servers := redistest.StartEmulated(t, 3)
	addr, log = freeAddr(t), new(bytes.Buffer)
	program = exec.Command(os.Args[0], "-listen", addr, "-redis", servers.Addrs()[0])
	program.Env = append(os.Environ(), "RUN_HTTPLIMIT=1")
	program.Stdout, program.Stderr = log, log
	require.NoError(t, program.Start())
	t.Cleanup(func() { _ = program.Process.Kill() })

	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, 30*time.Second, 10*time.Millisecond)
	return program, addr, log
}

func freeAddr(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func get(t *testing.T, url string) (code int, header http.Header, body string) {
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header, string(text)
}
