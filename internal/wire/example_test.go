package wire_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// A lane is a radix.Conn that many goroutines may use at once.
func ExampleDial() {
	server, err := miniredis.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	ctx := context.Background()
	lane, err := wire.Dial(ctx, lanes.Dialer{ClientName: "example"}, server.Addr())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lane.Close()

	var hits int
	err = lane.Do(ctx, radix.Cmd(&hits, "INCRBY", "hits", "5"))
	fmt.Println(hits, err)
	// Output: 5 <nil>
}
