package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/redislanes/redislanes/internal/servers"
)

// manyHits is a rule whose limit no ladder reaches.
const manyHits = "domain: shop\ndescriptors:\n  - key: user\n    rate_limit: {unit: second, requests_per_unit: 1000000}\n"

// A stand is a rate limit service and a cluster of three primaries for it, on this machine.
type stand struct {
	folder  string // has the rules
	cluster *servers.Cluster
	service *exec.Cmd
	serving chan string // where it serves; closed when its log has ended
}

// build starts the command of a service with the settings that it needs here, and returns where it serves. Its log
// goes to log.
func build(ctx context.Context, command string, log io.Writer) (s *stand, addr string, err error) {
	s = &stand{serving: make(chan string, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("--service %s: %w", command, err), s.close())
		}
	}()
	if s.folder, err = os.MkdirTemp("", "ladder-"); err != nil {
		return s, "", err
	}
	rules := filepath.Join(s.folder, "rules.yaml")
	if err := os.WriteFile(rules, []byte(manyHits), 0o600); err != nil {
		return s, "", err
	}
	if s.cluster, err = servers.LaunchCluster(ctx, servers.Options{}); err != nil {
		return s, "", err
	}
	const anyPort = "127.0.0.1:0"
	args := append(strings.Fields(command), "-addrs", strings.Join(s.cluster.Addrs(), ","), "-rules", rules,
		"-grpc-addr", anyPort, "-http-addr", anyPort, "-admin-addr", anyPort, "-drain-delay", "0s", "-log-format", "json")
	service := exec.Command(args[0], args[1:]...)
	said, err := service.StderrPipe()
	if err == nil {
		err = service.Start()
	}
	if err != nil {
		return s, "", err
	}
	s.service = service
	go s.read(said, log)
	if addr = <-s.serving; addr == "" {
		err = errors.New("it ended before it served")
	}
	return s, addr, err
}

// read passes the service's log on.
func (s *stand) read(said io.Reader, log io.Writer) {
	defer close(s.serving)
	for lines := bufio.NewScanner(said); lines.Scan(); {
		say(log, "%s\n", lines.Text())
		var line struct{ Msg, GRPC string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			s.serving <- line.GRPC
		}
	}
}

// close stops what was started.
func (s *stand) close() (err error) {
	if s.service != nil {
		_ = s.service.Process.Signal(syscall.SIGTERM) // it may have ended
		for range s.serving {
			continue
		}
		err = s.service.Wait()
	}
	if s.cluster != nil {
		err = errors.Join(err, s.cluster.Close())
	}
	return errors.Join(err, os.RemoveAll(s.folder))
}

// used returns how long the driver has run on processors so far, and the service and Redis if there is a stand.
// It is nil if a process is gone.
func (s *stand) used() map[string]time.Duration {
	pids := map[string][]int{"driver": {os.Getpid()}}
	if s != nil {
		pids["service"] = []int{s.service.Process.Pid}
		for _, node := range s.cluster.Nodes() {
			pids["Redis"] = append(pids["Redis"], node.Pid())
		}
	}
	all := make(map[string]time.Duration)
	for part, pids := range pids {
		for _, pid := range pids {
			times, err := (&process.Process{Pid: int32(pid)}).Times()
			if err != nil {
				return nil
			}
			all[part] += time.Duration((times.User + times.System) * float64(time.Second))
		}
	}
	return all
}
