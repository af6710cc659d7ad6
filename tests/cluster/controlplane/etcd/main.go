// Command etcd is etcd itself: its published server module has the whole program, and no main of its own to build.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
