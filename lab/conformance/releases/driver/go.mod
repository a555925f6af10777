module apfsim/lab/conformance/releases/driver

go 1.26.0
