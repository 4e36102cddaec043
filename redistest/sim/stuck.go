package sim

import (
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// look is how often bubbles are looked at. One that is stuck for four of these times stays stuck.
const look = 2500 * time.Millisecond

// bubbles are the names of those in which clusters were launched.
var bubbles sync.Map

func init() { time.AfterFunc(look, func() { watch(nil) }) } // outside of bubbles, where time is real

var (
	// head is how a goroutine's stack begins: its number, its state, its bubble.
	head  = regexp.MustCompile(`^goroutine (\d+) .*?\[([^,\n]+).*, (synctest bubble \d+)`)
	waits = regexp.MustCompile(`^(sync\.|chan |select|semacquire)`)
)

// launched notes that a cluster is in the caller's bubble, if there is one.
func launched() {
	stack := make([]byte, 256)
	if m := head.FindSubmatch(stack[:runtime.Stack(stack, false)]); m != nil {
		bubbles.Store(string(m[3]), true)
	}
}

func stacks() string {
	for buf := make([]byte, 64<<10); ; buf = make([]byte, 2*len(buf)) {
		if n := runtime.Stack(buf, true); n < len(buf) {
			return string(buf[:n])
		}
	}
}

// watch ends the process if a bubble is stuck. before has how many looks in a row have found the same goroutines stuck.
func watch(before map[string]int) {
	now, all := make(map[string]int), ""
	var open []string
	bubbles.Range(func(bubble, _ any) bool {
		open = append(open, bubble.(string))
		return true
	})
	if len(open) > 0 {
		all = stacks()
	}
	for _, bubble := range open {
		waiting, text := stuck(bubble, all)
		if text == "" {
			bubbles.Delete(bubble)
		}
		if now[waiting] = before[waiting] + 1; waiting != "" && now[waiting] > 4 {
			panic("sim: virtual time has stood still for 10 s: a goroutine waits for a mutex, or for something outside of its bubble. Some clients " +
				"hold a mutex while they wait for the network: see docs/testing.md, Other clients. The bubble's goroutines, those that wait first:\n\n" + text)
		}
	}
	time.AfterFunc(look, func() { watch(now) })
}

// stuck returns which goroutines keep the bubble's time from advancing, none if one runs, and the bubble's stacks without
// those of the cluster.
func stuck(bubble, all string) (waiting, text string) {
	others, runs := "", false
	for stack := range strings.SplitSeq(all, "\n\n") {
		m := head.FindStringSubmatch(stack)
		switch {
		case m == nil || m[3] != bubble:
		case strings.HasSuffix(m[2], "(durable)"):
			if !strings.Contains(stack, "simnet.(*wire).serve") {
				others += stack + "\n\n"
			}
		case waits.MatchString(m[2]):
			waiting, text = waiting+bubble+" "+m[1]+" ", text+stack+"\n\n"
		default:
			runs = true
		}
	}
	if runs {
		waiting = ""
	}
	return waiting, text + others
}
