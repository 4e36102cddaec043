package guard

import "log/slog"

// A Line is a line that a client's log can have. The table in docs/metrics.md says when it
// is written.
type Line struct {
	Level   slog.Level
	Message string
	Attrs   []string // the names of its attributes
}

// The lines of the log.
var (
	ServerDown       = define(slog.LevelWarn, "server down", "addr", "error", "commands")
	ServerSuspect    = define(slog.LevelWarn, "server suspect: silent, and no answer over another connection", "addr", "commands")
	ServerUp         = define(slog.LevelInfo, "server up again", "addr", "after")
	ServerNotSuspect = define(slog.LevelInfo, "server not suspect any more", "addr", "after")
	ServerNotUsed    = define(slog.LevelInfo, "server not used any more", "addr", "after")

	DialFailed = define(slog.LevelWarn, "dial failed", "addr", "failures", "error")
	ConnClosed = define(slog.LevelDebug, "connection closed", "addr", "reason", "error")
	Resized    = define(slog.LevelInfo, "pool resized", "addr", "from", "to", "reason", "saturation", "waiters")

	Outage     = define(slog.LevelWarn, "outage", "where", "for", "commands", "requests")
	OutageOver = define(slog.LevelInfo, "outage over", "where", "after")

	SlotsMoved       = define(slog.LevelInfo, "slots moved", "slots")
	RefreshFailed    = define(slog.LevelWarn, "refresh failed", "failures", "error")
	RefreshSucceeded = define(slog.LevelInfo, "refresh succeeded again", "after")
	MapNotUsed       = define(slog.LevelWarn, "a server's map of the slots is not used", "addr", "reason")
	NotReady         = define(slog.LevelInfo, "no server is ready yet", "error")
	OwnClock         = define(slog.LevelWarn, "windows of limits follow the process's clock until a server has told its time", "error")

	Panicked = define(slog.LevelError, "callback panicked", "callback", "panic", "stack")
)

var all []Line

func define(level slog.Level, message string, attrs ...string) Line {
	l := Line{level, message, attrs}
	all = append(all, l)
	return l
}

// Lines returns all lines.
func Lines() []Line { return all }

// args returns the line's attributes with these values, as slog.Logger.Log takes them.
func (l Line) args(values []any) []any {
	args := make([]any, 0, 2*len(values))
	for i, v := range values {
		name := "!BADKEY" // as slog has it
		if i < len(l.Attrs) {
			name = l.Attrs[i]
		}
		args = append(args, name, v)
	}
	return args
}
