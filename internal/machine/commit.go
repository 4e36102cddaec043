package machine

import (
	"os/exec"
	"runtime/debug"
	"strings"
)

// commit returns that of the code, with a "+" if it was changed since; "" if
// neither the program nor git knows it.
func commit() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		values := make(map[string]string)
		for _, s := range info.Settings {
			values[s.Key] = s.Value
		}
		if revision := values["vcs.revision"]; revision != "" {
			return short(revision, values["vcs.modified"] == "true")
		}
	}
	revision, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return ""
	}
	changes, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
	return short(strings.TrimSpace(string(revision)), err != nil || len(changes) > 0)
}

func short(revision string, changed bool) string {
	revision = revision[:min(12, len(revision))]
	if changed {
		revision += "+"
	}
	return revision
}
