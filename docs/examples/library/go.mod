module example.com/library

go 1.26.0

require apfsim v0.0.0-00010101000000-000000000000

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
)

replace apfsim => ../../..
