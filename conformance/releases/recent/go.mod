module apfsim/conformance/releases/recent

go 1.26.0
