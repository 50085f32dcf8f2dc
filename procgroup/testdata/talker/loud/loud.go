// Package loud is as package authors are told not to be.
package loud

import (
	"fmt"
	"os"
	"time"
)

func init() {
	fmt.Println("loud init")
	if log, err := os.OpenFile(os.Getenv("LOUD_LOG"), os.O_WRONLY|os.O_APPEND, 0); err == nil {
		fmt.Fprintln(log, "init")
		log.Close()
	}
	time.Sleep(300 * time.Millisecond)
}
