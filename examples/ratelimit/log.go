package main

import (
	"io"
	"log/slog"
)

// logSettings say what is logged, and how.
type logSettings struct {
	Level  slog.Level `name:"log-level" default:"info" help:"Least level that is logged: debug, info, warn or error."`
	Format string     `name:"log-format" enum:"text,json" default:"text" help:"Form of the log, which goes to the standard error: text or json."`
}

func (l *logSettings) logger(to io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: l.Level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
