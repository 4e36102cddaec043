package machine

import (
	"bufio"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/redislanes/redislanes/lanes"
)

// A Machine is where figures came about.
type Machine struct {
	Date    time.Time `json:"date"` // of the beginning
	OS      string    `json:"os"`
	Arch    string    `json:"arch"`
	CPU     string    `json:"cpu,omitempty"`
	CPUs    int       `json:"cpus"`
	Go      string    `json:"go"`
	Library string    `json:"redislanes"`
	Commit  string    `json:"commit,omitempty"` // with a "+" if files were changed since
}

// This returns the machine that the process runs on.
func This() Machine {
	return Machine{
		Date: time.Now().Truncate(time.Second), OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuModel(),
		CPUs: runtime.NumCPU(), Go: runtime.Version(), Library: lanes.Version, Commit: commit(),
	}
}

// cpuModel returns what Linux calls the processor; nothing elsewhere.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
