package guard

import (
	"context"
	"log/slog"
)

// Logger returns a logger that writes where log does and never panics. Without
// one, it writes nowhere.
func Logger(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	h := log.Handler()
	if _, ok := h.(handler); ok || h == slog.DiscardHandler {
		return log
	}
	return slog.New(handler{h})
}

// A handler is a user's, whose panics end here: there is nowhere to log them.
type handler struct{ of slog.Handler }

func (h handler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	var err error
	defer Catch("slog.Handler", &err)
	return h.of.Enabled(ctx, level)
}

func (h handler) Handle(ctx context.Context, r slog.Record) (err error) {
	defer Catch("slog.Handler", &err)
	return h.of.Handle(ctx, r)
}

func (h handler) WithAttrs(attrs []slog.Attr) (with slog.Handler) {
	with = h
	var err error
	defer Catch("slog.Handler", &err)
	return handler{h.of.WithAttrs(attrs)}
}

func (h handler) WithGroup(name string) (with slog.Handler) {
	with = h
	var err error
	defer Catch("slog.Handler", &err)
	return handler{h.of.WithGroup(name)}
}
