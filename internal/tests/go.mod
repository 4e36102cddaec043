// Tests that need libraries which the library itself does not: in a module of
// their own, so that these stay out of the root's go.mod and with it out of the
// builds of those who import it. make test and .ci/run run them like all others.
module github.com/redislanes/redislanes/internal/tests

go 1.25.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/mediocregopher/radix/v4 v4.1.4
	github.com/prometheus/client_golang v1.14.0
	github.com/redislanes/redislanes v0.0.0
	github.com/stretchr/testify v1.8.0
	go.yaml.in/yaml/v3 v3.0.5
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.1.2 // indirect
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/golang/protobuf v1.5.2 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/matttproud/golang_protobuf_extensions v1.0.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/prometheus/client_model v0.3.0 // indirect
	github.com/prometheus/common v0.37.0 // indirect
	github.com/prometheus/procfs v0.8.0 // indirect
	github.com/tilinna/clock v1.0.2 // indirect
	github.com/yuin/gopher-lua v1.1.0 // indirect
	golang.org/x/sys v0.0.0-20220520151302-bc2c85ada10a // indirect
	google.golang.org/protobuf v1.33.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/redislanes/redislanes => ../..
