package report

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// A Machine is where the driver ran.
type Machine struct {
	Date time.Time `json:"date"` // of the beginning
	OS   string    `json:"os"`
	Arch string    `json:"arch"`
	CPU  string    `json:"cpu,omitempty"`
	CPUs int       `json:"cpus"`
	Go   string    `json:"go"`
}

func thisMachine() Machine {
	return Machine{
		Date: time.Now().Truncate(time.Second), OS: runtime.GOOS, Arch: runtime.GOARCH,
		CPU: cpuModel(), CPUs: runtime.NumCPU(), Go: runtime.Version(),
	}
}

// String says it in one line.
func (m Machine) String() string {
	cpu := m.CPU
	if cpu != "" {
		cpu = " (" + cpu + ")"
	}
	return fmt.Sprintf("%s, driver on %s/%s, %d CPUs%s, %s", m.Date.Format(time.DateTime+" MST"), m.OS, m.Arch, m.CPUs, cpu, m.Go)
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
