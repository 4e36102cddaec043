package resp_test

import (
	"fmt"

	"github.com/redislanes/redislanes/internal/resp"
)

func ExampleAppendCommand() {
	cmd := resp.AppendCommand(nil, "INCRBY", "hits", "1")
	fmt.Printf("%q\n", cmd)
	// Output: "*3\r\n$6\r\nINCRBY\r\n$4\r\nhits\r\n$1\r\n1\r\n"
}

// A reply ends where the framer says so, in whatever pieces it arrives.
func ExampleFramer() {
	f := resp.NewFramer(resp.DefaultMaxReply)
	var reply []byte
	for _, piece := range []string{":1", "\r\n$5\r\nhe", "llo\r", "\n"} {
		for p := []byte(piece); len(p) > 0; {
			n, done, err := f.Next(p)
			if err != nil {
				fmt.Println(err)
				return
			}
			reply, p = append(reply, p[:n]...), p[n:]
			if done {
				fmt.Printf("%c %q\n", f.Kind(), reply)
				reply = reply[:0]
			}
		}
	}
	// Output:
	// : ":1\r\n"
	// $ "$5\r\nhello\r\n"
}

func ExampleInt() {
	fmt.Println(resp.Int([]byte(":42\r\n")))
	fmt.Println(resp.Int([]byte("$2\r\n42\r\n")))
	fmt.Println(resp.Int([]byte("$-1\r\n")))
	// Output:
	// 42 <nil>
	// 42 <nil>
	// 0 null reply
}
