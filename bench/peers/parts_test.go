package main

import (
	"bytes"
	"math/big"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/bench/internal/usage"
)

// TestPartOf: the innermost function decides only among modules; a system call is what it is
// for, whoever makes it.
func TestPartOf(t *testing.T) {
	for _, test := range []struct {
		want      string
		functions []string // the innermost one first
	}{
		{writing, []string{"internal/runtime/syscall/linux.Syscall6", "syscall.Syscall", "syscall.write", "syscall.Write", "github.com/redislanes/redislanes/internal/wire.(*socket).write"}},
		{writing, []string{"syscall.write", "internal/poll.(*FD).Write", "crypto/tls.(*Conn).Write", "github.com/redis/rueidis.(*pipe)._backgroundWrite"}},
		{reading, []string{"syscall.read", "syscall.Read", "internal/poll.(*FD).Read", "net.(*conn).Read", "bufio.(*Reader).fill"}},
		{polling, []string{"internal/runtime/syscall/linux.EpollWait", "runtime.netpoll", "runtime.findRunnable", "runtime.schedule"}},
		{scheduling, []string{"runtime.futex", "runtime.futexwakeup", "runtime.notewakeup", "runtime.wakep", "runtime.ready"}},
		{scheduling, []string{"runtime.casgstatus", "runtime.selectgo", "github.com/redislanes/redislanes/internal/wire.(*Call).Wait"}},
		{allocating, []string{"runtime.nextFreeFast", "runtime.mallocgc", "runtime.newobject", "github.com/redis/go-redis/v9.NewCmd"}},
		{encrypting, []string{"crypto/internal/fips140/aes/gcm.gcmAesEnc", "crypto/tls.(*halfConn).encrypt", "github.com/redislanes/redislanes/internal/wire.(*Lane).write"}},
		{inClient, []string{"runtime.memmove", "github.com/redislanes/redislanes/internal/wire.(*Lane).enqueue", "main.ourPipeline.func1"}},
		{loading, []string{"strconv.AppendInt", "main.scenario.draw", "main.(*load).caller"}},
		{loading, []string{"github.com/HdrHistogram/hdrhistogram-go.(*Histogram).RecordValue", "main.(*recorder).flush"}},
		{elsewhere, []string{"runtime.goexit"}},
	} {
		require.Equal(t, test.want, partOf(test.functions), test.functions)
	}
}

// TestPartsOfProfile profiles what is in this package.
func TestPartsOfProfile(t *testing.T) {
	var encoded bytes.Buffer
	require.NoError(t, pprof.StartCPUProfile(&encoded))
	n := big.NewInt(3)
	for began := usage.CPU(); usage.CPU()-began < 300*time.Millisecond; { // one sample every 10 ms
		new(big.Int).Exp(n, big.NewInt(1<<14), nil)
	}
	pprof.StopCPUProfile()
	parts, err := partsOfProfile(encoded.Bytes())
	require.NoError(t, err)
	require.Positive(t, parts[inClient], "a test is part of a package with a path")
	_, err = partsOfProfile([]byte("none"))
	require.Error(t, err)
}
