package shown

import "io"

const (
	One, two = 1, 2
	Three    = 3
)

var Failed error

func Do(a, b int, more ...string) (n int, err error) { return one(a) }

func one(n int) (int, error) { return n, nil }

type Open struct {
	io.Reader
	Name, Value string
	hidden      func()
	OnEvent     func(string) error
}

func (o *Open) Close() error { return nil }

func (o Open) quiet() {}

type shut struct{ Field int }

func (shut) Method() {}

type Closed interface {
	io.Closer
	Do(n int) string
	secret()
}

type Number int

type Same = Number
