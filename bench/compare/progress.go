package main

import (
	"io"
	"sync"
	"time"
)

// progress tells on stderr what goes on, at most once a second, so that it can
// be read on a terminal and in a log. One goroutine uses it.
type progress struct {
	w     io.Writer
	lines chan string
	quit  chan struct{}
	done  sync.WaitGroup
	left  time.Duration // of the turns to come
}

func newProgress(w io.Writer, all time.Duration) *progress {
	p := &progress{w: w, lines: make(chan string, 1), quit: make(chan struct{}), left: all}
	p.done.Go(p.write)
	return p
}

// write prints a line and then waits for a second, in which newer lines replace
// the next one.
func (p *progress) write() {
	for {
		select {
		case line := <-p.lines:
			say(p.w, "%s\n", line)
		case <-p.quit:
			return
		}
		select {
		case <-time.After(time.Second):
		case <-p.quit:
			return
		}
	}
}

// say shows a line, unless a newer one comes before its time.
func (p *progress) say(line string) {
	for {
		select {
		case p.lines <- line:
			return
		default:
		}
		select {
		case <-p.lines:
		default:
		}
	}
}

// turn says that an endpoint's turn begins, which takes so long.
func (p *progress) turn(what string, takes time.Duration) {
	p.say(what + ", " + p.left.Round(time.Second).String() + " left")
	p.left -= takes
}

// end stops it.
func (p *progress) end() {
	close(p.quit)
	p.done.Wait()
}
