// A program that imports the library has its versions raised to these. So they
// are the oldest that the code and its tests pass with, but for known holes:
//
//	go            sync.WaitGroup.Go, and testing/synctest in tests
//	client_golang native histograms; only metrics and tests import it
//	client_model  what client_golang itself requires; only metrics imports it
//	protobuf      CVE-2024-24786; client_golang itself would do with 1.28.1
//	miniredis     CLIENT SETNAME; only redistest imports it
//	testify       WithinRange; only tests import it
module github.com/redislanes/redislanes

go 1.25.0

require (
	github.com/alicebob/miniredis/v2 v2.31.0
	github.com/hashicorp/golang-lru/v2 v2.0.7
	github.com/mediocregopher/radix/v4 v4.1.4
	github.com/prometheus/client_golang v1.14.0
	github.com/prometheus/client_model v0.3.0
	github.com/prometheus/common v0.37.0
	github.com/stretchr/testify v1.8.0
	github.com/yuin/gopher-lua v1.1.0
)

require (
	github.com/alicebob/gopher-json v0.0.0-20200520072559-a9ecdc9d1d3a // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.1.2 // indirect
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/golang/protobuf v1.5.2 // indirect
	github.com/matttproud/golang_protobuf_extensions v1.0.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/prometheus/procfs v0.8.0 // indirect
	github.com/tilinna/clock v1.0.2 // indirect
	golang.org/x/sys v0.0.0-20220520151302-bc2c85ada10a // indirect
	google.golang.org/protobuf v1.33.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
