package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redislanes/redislanes/internal/servers"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

// TestSmoke runs the whole program for a few seconds.
func TestSmoke(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds and a cluster")
	}
	servers.RequireServer(t)
	file := filepath.Join(t.TempDir(), "report.json")
	var out bytes.Buffer
	// By seed 1, the first episode is a lossless one.
	if code := command([]string{"-for", "5s", "-seed", "1", "-callers", "8", "-report", file}, &out, &out); code != 0 {
		t.Fatalf("exit status %d:\n%s", code, &out)
	}
	t.Logf("\n%s", &out)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if r.Acknowledged == 0 || r.KeysChecked < 100 || len(r.Faults) == 0 || r.Peak.Goroutines <= r.Before.Goroutines {
		t.Errorf("report: %+v", r)
	}
}

// TestInterrupt ends the run when the first fault is over: what was counted by
// then is checked.
func TestInterrupt(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds and a cluster")
	}
	servers.RequireServer(t)
	set, err := parseSettings([]string{"-for", "1h", "-callers", "4", "-pool", "fixed"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	log := &interrupter{at: "served after", cancel: cancel}
	r, err := run(ctx, set, log)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted || r.KeysChecked != set.allKeys() || len(r.Failures) > 0 || r.Seconds > 60 {
		t.Errorf("report: %+v\n%s", r, &log.Buffer)
	}
}

// An interrupter cancels when a text is written to it.
type interrupter struct {
	bytes.Buffer
	at     string
	cancel func()
}

func (i *interrupter) Write(b []byte) (int, error) {
	if strings.Contains(string(b), i.at) {
		i.cancel()
	}
	return i.Buffer.Write(b)
}
