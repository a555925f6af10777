package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"apfsim/experiment/playground"
)

func newServe() *cobra.Command {
	var port int
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the playground on this machine",
		Long: `Serve the playground, a page in which scenarios are tried, to browsers on this machine. The page is that of
'make playground', and this program runs the simulations. It prints the address, which has a random
token, and serves until it is interrupted.

It listens on 127.0.0.1 only, and answers no request without the token, of another origin, or with a
Host that is not of this machine. Everything that the page is given stays in the memory of this
machine until the call is answered.`,
		Example: `  apfsim serve
  apfsim serve --port 8080`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if port < 0 || port > 65535 {
				return invalid(fmt.Errorf("--port: %d: want from 0 to 65535", port))
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if err != nil {
				return fmt.Errorf("--port: %w", err)
			}
			token := rand.Text()
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "http://%s/%s/\n", listener.Addr(), token); err != nil {
				listener.Close()
				return err
			}
			return serve(ctx, listener, token)
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "`N`: port to listen on; 0 for any that is free")
	return cmd
}

// serve serves the playground until the context is cancelled, which ends all calls.
func serve(ctx context.Context, listener net.Listener, token string) error {
	server := &http.Server{
		Handler:           playground.NewHandler(token),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
