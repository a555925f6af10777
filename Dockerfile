# Builds an image that contains only apfsim and its licenses; see docs/guides/docker.md.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
ARG TARGETOS
ARG TARGETARCH
RUN make build licenses VERSION="$VERSION" GOOS="$TARGETOS" GOARCH="$TARGETARCH"

FROM scratch
COPY --from=build /src/bin/apfsim /apfsim
COPY --from=build /src/bin/licenses /licenses
# apfsim reads and writes files in /work and runs as a user without privileges.
WORKDIR /work
USER 65532:65532
ENTRYPOINT ["/apfsim"]
