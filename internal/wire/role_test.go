package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
)

// TestRoleOfAPrimaryWithManyReplicas: its reply to ROLE has a row for each. With more than 64 it
// was taken for something else than a Redis server.
func TestRoleOfAPrimaryWithManyReplicas(t *testing.T) {
	const replicas = 500
	row := "*3\r\n$39\r\n2001:0db8:85a3:0000:0000:8a2e:0370:7334\r\n$5\r\n16379\r\n$15\r\n123456789012345\r\n"
	role := fmt.Sprintf("*3\r\n$6\r\nmaster\r\n:1\r\n*%d\r\n%s", replicas, strings.Repeat(row, replicas))
	var told string
	purpose := Purpose{Role: true, Admits: func(_ string, _, role []byte) error { told = string(role); return nil }}
	l, err := DialFor(within(t, patience), lanes.Dialer{NoSetInfo: true}, purpose, answering(t, role))
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.Equal(t, role, told)
}
