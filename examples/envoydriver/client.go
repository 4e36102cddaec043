package envoydriver

// A Client is what the service calls, from many goroutines. errors.As finds a
// RedisError in all errors, and errors.Is what became of the commands, such as
// redislanes.ErrNotSent. Receivers are pointers or nil.
type Client interface {
	DoCmd(rcv any, cmd, key string, args ...any) error
	PipeAppend(pipeline Pipeline, rcv any, cmd, key string, args ...any) Pipeline
	PipeDo(pipeline Pipeline) error // sends all, and sets the receivers of those that have a reply
	Close() error
	NumActiveConns() int // open connections to all servers
}

// A Pipeline is the commands of one request.
type Pipeline []PipelineAction

// A PipelineAction is a command that is not sent yet.
type PipelineAction struct {
	rcv  any
	cmd  string
	args []string
}

// A RedisError is how the service tells errors of Redis from others.
type RedisError string

func (e RedisError) Error() string { return string(e) }

func failed(err error) error {
	if err == nil {
		return nil
	}
	return failure{err}
}

type failure struct{ error }

func (f failure) Unwrap() []error { return []error{RedisError(f.Error()), f.error} }
