package rules

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long after a change the files are read: what writes them may not have
// finished. A change that comes later is read again.
const settle = 100 * time.Millisecond

// lookEvery is how often the files are read without an event: the folder may have been
// replaced, or lie on a file system that tells of nothing.
const lookEvery = 15 * time.Second

// A Watcher sees the files of a Store change. Make it with [Store.Watch], and close it.
type Watcher struct {
	store  *Store
	folder string
	name   string // of the file; "" for a folder
	every  time.Duration
	files  *fsnotify.Watcher // nil: the system has none left
	broken error             // why events cannot be had
}

// Watch begins to watch the files. Changes from now on are seen by [Watcher.Run].
// It is the folder that is watched: Kubernetes and most editors do not write to a file
// but put another one in its place.
func (s *Store) Watch() (*Watcher, error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, readError(s.path, err)
	}
	w := &Watcher{store: s, folder: s.path, every: lookEvery}
	if !info.IsDir() {
		w.folder, w.name = filepath.Dir(s.path), filepath.Base(s.path)
	}
	if w.files, err = fsnotify.NewWatcher(); err == nil {
		err = w.files.Add(w.folder)
	}
	w.broken = err
	return w, nil
}

// Run reads the files again when they change, until the context ends. It calls told
// after each time that they had changed, with the mistake if there is one, and blind
// when changes may not be seen at once.
func (w *Watcher) Run(ctx context.Context, told, blind func(error)) {
	var events <-chan fsnotify.Event
	var errs <-chan error
	if w.files != nil {
		events, errs = w.files.Events, w.files.Errors
	}
	if w.broken != nil {
		blind(w.cannot(w.broken))
	}
	due := time.NewTimer(0) // what has changed between Open and Watch
	defer due.Stop()
	look := time.NewTicker(w.every)
	defer look.Stop()
	waiting := true
	for {
		select {
		case <-ctx.Done():
			return
		case event, ok := <-events:
			if !ok {
				return
			}
			if w.matters(event) && !waiting {
				waiting = true
				due.Reset(settle)
			}
		case err, ok := <-errs: // events may be lost
			if !ok {
				return
			}
			blind(fmt.Errorf("rules: watching %s: %w", w.folder, err))
			if !waiting {
				waiting = true
				due.Reset(settle)
			}
		case <-look.C:
			if err := w.again(); err != nil {
				blind(w.cannot(err))
			}
			if changed, err := w.store.Reload(); changed {
				told(err)
			}
		case <-due.C:
			waiting = false
			if changed, err := w.store.Reload(); changed {
				told(err)
			}
		}
	}
}

// again watches the folder again: the watch is that of a folder, not of its name.
func (w *Watcher) again() error {
	if w.files == nil {
		return nil // blind was told
	}
	_ = w.files.Remove(w.folder) // it may be gone
	return w.files.Add(w.folder)
}

func (w *Watcher) cannot(err error) error {
	return fmt.Errorf("rules: cannot watch %s: %w", w.folder, err)
}

// Close ends the watching, and Run if it has events.
func (w *Watcher) Close() error {
	if w.files == nil {
		return nil
	}
	return w.files.Close()
}

// matters reports whether the rules may be others after the event.
func (w *Watcher) matters(event fsnotify.Event) bool {
	name := filepath.Base(event.Name)
	switch {
	case event.Op == fsnotify.Chmod:
		return false
	case strings.HasPrefix(name, ".."): // how Kubernetes changes a folder
		return true
	case w.name != "":
		return name == w.name
	}
	return isRules(name)
}
