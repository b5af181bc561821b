// Command ferretdb serves MongoDB's protocol on a folder of SQLite files until it is ended:
// ferretdb <folder> <address>. It says where it listens on standard output.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	if len(os.Args) != 3 {
		fail("usage: ferretdb <folder> <address>")
	}
	folder, address := os.Args[1], os.Args[2]
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: address},
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Handler:   "sqlite",
		// Its data need not outlive the machine, and a test should not wait for its disk.
		SQLiteURL: "file:" + folder + "/?_pragma=synchronous(off)",
	})
	if err != nil {
		fail(err.Error())
	}
	ending, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { fmt.Println(server.MongoDBURI()) }()
	if err := server.Run(ending); err != nil {
		fail(err.Error())
	}
}

func fail(reason string) {
	fmt.Fprintln(os.Stderr, reason)
	os.Exit(1)
}
