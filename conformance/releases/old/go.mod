module apfsim/conformance/releases/old

go 1.26.0
